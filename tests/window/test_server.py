"""The server as other programs on the machine see it: paths, floods of requests, ranges of videos, and kills."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from served import Served, serving
from videos import write_video

from rgwot.runtime.errors import RgwotError
from rgwot.window import beginning, server, session
from rgwot.window.beginning import Proposal, begin, study_or_proposal
from rgwot.window.guard import MOST_BYTES
from rgwot.window.server import MOST_CONNECTIONS

#: A name of a video that would do harm as markup.
NAME = "<img src=x onerror=alert(1)>&'%2e%2e"
CONFIG = """# my study
datasets:
  mine:
    layout: folder
    root: videos # beside
seeds: [0]
page: {datasets: [mine]}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served") / "study"
    (folder / "videos" / "tea").mkdir(parents=True)
    (folder / "config.yaml").write_text(CONFIG)
    (folder.parent / "secret.csv").write_text("secret")
    for name in ("monday", NAME):
        write_video(folder / "videos" / "tea" / f"{name}.mp4", 30)
    write_video(folder / "videos" / "tea" / "old.avi", 30, codec="mpeg4")
    (folder / "videos" / "tea" / "eaf.mp4").write_bytes((folder / "videos" / "tea" / "monday.mp4").read_bytes())
    (folder / "videos" / "tea" / "eaf.eaf").write_text("<ANNOTATION_DOCUMENT/>")
    results = folder / "results"
    (results / "figures").mkdir(parents=True)
    (results / "figures" / "own.csv").write_text("own")
    (results / "figures" / "link.csv").symlink_to(folder.parent / "secret.csv")
    (results / "notes.txt").write_text("no type of a result")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        with serving(folder, patched) as running:
            yield running


def ask(
    served: Served, path: str, method: str = "GET", content: Any = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    own = f"http://127.0.0.1:{served.port}"
    given = {"cookie": f"{served.keys.cookie}={served.keys.secret}", "origin": own, "content-type": "application/json"}
    body = None if content is None else json.dumps(content)
    connection.request(method, path, body, given | headers)
    answer = connection.getresponse()
    found = answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    connection.close()
    return found


def save(served: Served, kind: str, text: str | None, video: str = "", base: str = "", **more: Any) -> tuple[int, Any]:
    content = {"kind": kind, "video": video, "text": text, "base": base, **more}
    status, _, body = ask(served, "/api/save/mine/tea", "PUT", content)
    return status, json.loads(body)


UP = (
    "../secret.csv",
    "..%2fsecret.csv",
    "%2e%2e/secret.csv",
    "figures/../../secret.csv",
    "/etc/passwd",
    "figures/link.csv",
)


@pytest.mark.parametrize("up", [*UP, "notes.txt", "figures/none.csv", "figures", "", "figures/own.csv%00"])
def test_no_path_leaves_the_results(served: Served, up: str) -> None:
    status, _, body = ask(served, f"/results/{up}")
    assert status in (303, 400, 404)
    assert b"secret" not in body
    assert ask(served, "/results/figures/own.csv")[2] == b"own"


@pytest.mark.parametrize("up", ["..", "%2e%2e", "..%2f..%2fsecret", "../../config.yaml", "mine%00"])
def test_no_parameter_leaves_the_study(served: Served, up: str) -> None:
    paths = [
        f"/results/report/{up}/tea.html", f"/results/report/mine/{up}.html", f"/video/mine/tea/{up}",
        f"/video/{up}/tea/monday", f"/api/files/{up}/tea", f"/api/files/mine/{up}", f"/api/answer/{up}/tea",
        f"/api/questions/mine/{up}", f"/api/playable/mine/tea/{up}", f"/api/K/mine/{up}/3", f"/api/K/mine/tea/{up}",
        f"/api/channels/mine/{up}/monday", f"/api/channels/mine/tea/{up}",
        f"/api/channels/mine/tea/monday?chosen={up}",
    ]  # fmt: skip
    for path in paths:
        status, _, body = ask(served, path)
        assert status in (400, 404) or (status == 200 and json.loads(body) == {"version": 0}), path
        assert b"seeds" not in body
    for kind, video in (("annotation", up), (up, "monday"), ("annotation", f"../{up}")):
        assert save(served, kind, "start_s,end_s,label\n", video)[0] == 400
    before = set(Path().resolve().parent.rglob("*"))
    assert ask(served, f"/api/save/{up}/tea", "PUT", {"kind": "names", "text": "x"})[0] in (400, 404)
    assert set(Path().resolve().parent.rglob("*")) == before


def test_a_name_with_markup_is_data(served: Served) -> None:
    video = quote(quote(NAME, safe=""), safe="")
    status, headers, body = ask(served, f"/video/mine/tea/{video}")
    assert (status, headers["content-type"], headers["x-content-type-options"]) == (200, "video/mp4", "nosniff")
    assert body == Path("videos/tea", f"{NAME}.mp4").read_bytes()
    status, headers, body = ask(served, "/api/files/mine/tea")
    assert (status, headers["content-type"]) == (200, "application/json")
    assert any(NAME in own["path"] for own in json.loads(body).values())
    # The first page contains no data; its script sets all texts that it shows.
    assert NAME.encode() not in ask(served, "/")[2]


def test_videos_come_in_ranges(served: Served) -> None:
    whole = Path("videos/tea/monday.mp4").read_bytes()
    status, headers, body = ask(served, "/video/mine/tea/monday", range="bytes=100-199")
    assert (status, body) == (206, whole[100:200])
    assert headers["content-range"] == f"bytes 100-199/{len(whole)}"
    assert ask(served, "/video/mine/tea/monday", range=f"bytes={len(whole)}-")[0] == 416


def test_what_a_browser_cannot_play_is_made_playable_with_the_same_clock(served: Served) -> None:
    for _ in range(300):
        actual = json.loads(ask(served, "/api/playable/mine/tea/old")[2])
        if actual["ready"] or actual["fault"]:
            break
        time.sleep(0.1)
    assert actual == {"ready": True, "fault": ""}
    status, headers, body = ask(served, "/video/mine/tea/old")
    assert (status, headers["content-type"]) == (200, "video/mp4")
    import av

    proxy = Path(".rgwot/copy.mp4")
    proxy.write_bytes(body)
    times = {}
    for path in (proxy, Path("videos/tea/old.avi")):
        with av.open(str(path)) as container:
            stamps = sorted(float(frame.pts * frame.time_base) for frame in container.decode(video=0))
            times[path.suffix] = [stamp - stamps[0] for stamp in stamps]
    assert times[".mp4"] == pytest.approx(times[".avi"], abs=1e-3)


def test_an_annotation_is_saved_where_the_commands_read_it(served: Served) -> None:
    text = "start_s,end_s,label\n0,0.5,pour\n0.5,1,-\n"
    status, answer = save(served, "annotation", text, "monday")
    assert status == 200
    assert Path("videos/tea/monday.csv").read_text() == text
    # A file that another program changed is kept, and another name is offered.
    Path("videos/tea/monday.csv").write_text("start_s,end_s,label\n0,1,stir\n")
    status, told = save(served, "annotation", text, "monday", answer["base"])
    assert (status, told["apart"]) == (409, "monday.1.csv")
    assert save(served, "annotation", text, "monday", apart=True)[0] == 200
    assert Path("videos/tea/monday.1.csv").read_text() == text
    assert "stir" in Path("videos/tea/monday.csv").read_text()
    # A file of another program is kept, too, and another name is offered.
    status, told = save(served, "annotation", text, "eaf")
    assert (status, told["apart"]) == (409, "eaf.1.eaf")
    # A file that the commands could not read is refused in one line.
    for wrong in ("start_s,end_s,label\n2,1,pour\n", "start_s,end_s,label\nx,1,pour\n"):
        status, told = save(served, "annotation", wrong, "old")
        assert (status, told["error"].count("\n")) == (400, 0)
    assert not Path("videos/tea/old.csv").exists()
    for left in ("monday.csv", "monday.1.csv"):
        Path("videos/tea", left).unlink()


def test_names_are_checked_and_saved(served: Served) -> None:
    text = 'rgwot-plus/consensus/seed0:\n  result: "0123456789ab"\n  names:\n    1: "pour"\n'
    assert save(served, "names", text)[0] == 200
    assert Path("names/mine/tea.yaml").read_text() == text
    assert save(served, "names", "!!python/object/apply:os.system ['touch hacked']", base="x")[0] in (400, 409)
    assert not Path("hacked").exists()


def test_the_number_of_key_steps_is_one_line_of_the_configuration(served: Served) -> None:
    assert ask(served, "/api/K", "PUT", {"K": 12})[0] == 200
    assert Path("config.yaml").read_text() == f"{CONFIG}decode: {{K: 12}}\n"
    assert ask(served, "/api/K", "PUT", {"K": 9})[0] == 200
    assert Path("config.yaml").read_text() == f"{CONFIG}decode: {{K: 9}}\n"
    for wrong in (1, True, "9", None, 10**9):
        assert ask(served, "/api/K", "PUT", {"K": wrong})[0] == 400
    Path("config.yaml").write_text(f"{CONFIG}decode:\n  time: 0.1 # a little\n")
    assert ask(served, "/api/K", "PUT", {"K": 3})[0] == 200
    assert Path("config.yaml").read_text() == f"{CONFIG}decode:\n  K: 3\n  time: 0.1 # a little\n"
    Path("config.yaml").write_text(CONFIG)


def test_another_seed_is_added_to_the_configuration(served: Served) -> None:
    without = CONFIG.replace("seeds: [0]\n", "")
    for before, after in (
        (f"{without}seeds: [0] # one\n", f"{without}seeds: [0, 1] # one\n"),
        # The defaults have three seeds.
        (without, f"{without}seeds: [0, 1, 2, 3]\n"),
        (f"{without}seeds:\n  - 3\n  - 1\n", f"{without}seeds:\n  [3, 1, 4]\n"),
    ):
        Path("config.yaml").write_text(before)
        assert ask(served, "/api/seeds", "POST", {})[0] == 200
        assert Path("config.yaml").read_text() == after
    Path("config.yaml").write_text(CONFIG)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b"\xff", b"null", b'{"text": 1}', b'{"kind": []}', pytest.param(b"[" * 10**6, id="deep")]
)
def test_a_body_that_is_not_a_request_gives_one_line(served: Served, body: bytes) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    cookie = f"{served.keys.cookie}={served.keys.secret}"
    headers = {"cookie": cookie, "origin": f"http://127.0.0.1:{served.port}", "content-type": "application/json"}
    connection.request("PUT", "/api/save/mine/tea", body, headers)
    answer = connection.getresponse()
    assert answer.status == 400
    assert "error" in json.loads(answer.read())
    connection.close()


def test_a_gigabyte_is_not_taken_in(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as connection:
        connection.sendall(
            f"PUT /api/save/mine/tea HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nCookie: {served.keys.cookie}="
            f"{served.keys.secret}\r\nOrigin: http://127.0.0.1:{served.port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {10**9}\r\n\r\n".encode()
        )
        sent = 0
        try:
            while sent < 64 * MOST_BYTES:
                sent += connection.send(b" " * 65536)
        except OSError:
            pass
        assert sent < 64 * MOST_BYTES
    assert ask(served, "/api/state")[0] == 200


def test_two_hundred_connections_at_once_do_no_lasting_harm(served: Served) -> None:
    opened = [socket.create_connection(("127.0.0.1", served.port), timeout=30) for _ in range(200)]
    request = f"GET /api/state HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode()
    for connection in opened:
        connection.sendall(request)
    answers = {connection.recv(64).split(b" ")[1] for connection in opened}
    # Without the cookie, requests are refused, most before their body is read.
    assert answers <= {b"403", b"503"}
    for connection in opened:
        connection.close()
    for _ in range(100):
        if ask(served, "/api/state")[0] == 200:
            break
        time.sleep(0.1)
    assert ask(served, "/api/state")[0] == 200
    assert MOST_CONNECTIONS < 200


def test_a_second_window_is_counted(served: Served) -> None:
    assert json.loads(ask(served, "/api/state?window=one")[2])["windows"] >= 1
    before = json.loads(ask(served, "/api/state?window=one")[2])["windows"]
    assert json.loads(ask(served, "/api/state?window=two")[2])["windows"] == before + 1
    assert ask(served, "/api/closed", "POST", {"window": "two"})[0] == 200
    assert json.loads(ask(served, "/api/state?window=one")[2])["windows"] == before


def test_a_request_after_the_message_that_a_page_is_closed_opens_no_window(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def windows(query: str) -> int:
        return json.loads(ask(served, f"/api/state?{query}")[2])["windows"]

    for other in [*served.session._windows]:
        served.session.gone(other)
    assert windows("window=one&page=a") == 1
    ask(served, "/api/closed", "POST", {"window": "one", "page": "a"})
    assert windows("window=one&page=a") == 0
    # A page that is loaded anew in this window is another one.
    assert windows("window=one&page=b") == 1
    # A window that no longer asks counts as closed, later if it is hidden.
    monkeypatch.setattr(session, "SILENT_S", 0.0)
    assert windows("window=one&page=b") == 0
    assert windows("window=one&page=b&hidden=true") == 1
    ask(served, "/api/closed", "POST", {"window": "one", "page": "b"})
    assert not served.session.alone()
    monkeypatch.setattr(session, "ALONE_S", 0.0)
    assert served.session.alone()


def test_without_a_window_the_server_ends_after_the_run_at_work_and_says_so() -> None:
    alone, at_work = [False, True, True, True], [True, True, False]
    windows = SimpleNamespace(alone=lambda: alone.pop(0), at_work=lambda: at_work.pop(0))
    lines, watched = list[str](), SimpleNamespace(should_exit=False)
    server._watch(windows, watched, lines.append, every_s=0)  # type: ignore[arg-type]
    assert ["after the run" in line for line in lines] == [True, False]
    assert watched.should_exit


def test_a_lock_of_another_run_is_shown_and_not_removed(served: Served) -> None:
    lock = Path(".snakemake/locks/0.input.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    while served.session.runs.state()["at_work"]:
        time.sleep(0.05)
    lock.write_text("somebody else's")
    try:
        assert ask(served, "/api/run", "POST", {})[0] == 200
        time.sleep(1)
        run = json.loads(ask(served, "/api/state")[2])["run"]
        assert (run["locked"], run["waiting"], run["at_work"]) == (True, True, False)
        # Annotations can still be saved.
        assert save(served, "annotation", "start_s,end_s,label\n0,1,pour\n", "monday")[0] == 200
        assert lock.read_text() == "somebody else's"
    finally:
        lock.unlink()
    for _ in range(100):
        if not served.session.runs.state()["waiting"]:
            break
        time.sleep(0.1)
    Path("videos/tea/monday.csv").unlink()


def test_a_taken_port_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(RgwotError, match=rf"127\.0\.0\.1:{port}: cannot listen there .*; give another --port"):
            server._listen("127.0.0.1", port)


SLOW = """
import time
from pathlib import Path
from rgwot.window import app, server
app._Endpoints.state = lambda *_: print("asked", flush=True) or time.sleep(5)
server.serve(Path(), "127.0.0.1", None, False, lambda line: print(line, flush=True))
"""


def test_ctrl_c_during_a_request_ends_the_server_without_a_traceback(served: Served) -> None:
    process = subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = urlsplit(next(line for line in process.stdout if "?token=" in line).split()[-1])
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=30)
    connection.request("GET", f"/?{address.query}")
    cookie = str(connection.getresponse().getheader("set-cookie")).partition(";")[0]
    connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=30)
    connection.request("GET", "/api/state", headers={"cookie": cookie})
    assert "asked\n" in process.stdout
    process.send_signal(signal.SIGINT)
    assert (process.communicate(timeout=30)[1], process.returncode) == ("", 0)


def test_a_folder_of_videos_becomes_a_study_beside_it(tmp_path: Path) -> None:
    flat = tmp_path / "my videos"
    flat.mkdir()
    for number in range(3):
        write_video(flat / f"{number}.mp4", 10)
    proposed = study_or_proposal(flat)
    assert proposed == Proposal(flat, tmp_path / "my videos_study", True, {"my videos": 3})
    for wrong in ("", "../elsewhere", ".hidden", "a/b", "{x}"):
        with pytest.raises(RgwotError, match="expected a name of a folder"):
            begin(proposed, wrong, "tea")
        with pytest.raises(RgwotError, match="expected a name of a folder"):
            begin(proposed, "tea_study", wrong)
    study = begin(proposed, "my videos_study", "making tea")
    assert sorted(path.name for path in (study / "videos" / "making tea").iterdir()) == ["0.mp4", "1.mp4", "2.mp4"]
    assert sorted(path.name for path in flat.iterdir()) == ["0.mp4", "1.mp4", "2.mp4"]
    assert study_or_proposal(study) == study
    assert study_or_proposal(flat) == study


def test_folders_of_tasks_become_a_study_too_and_others_are_refused(tmp_path: Path) -> None:
    root = tmp_path / "videos"
    for task in ("tea", "coffee"):
        (root / task).mkdir(parents=True)
        write_video(root / task / "a.mp4", 10)
    proposed = study_or_proposal(root)
    assert isinstance(proposed, Proposal)
    assert (proposed.flat, proposed.tasks) == (False, {"coffee": 1, "tea": 1})
    study = begin(proposed, "kitchen", "")
    assert 'root: "../videos"' in (study / beginning.CONFIG).read_text()
    (tmp_path / "empty").mkdir()
    for folder, fault in (("empty", "found no config.yaml and no video"), ("none", "no such folder")):
        with pytest.raises(RgwotError, match=fault):
            study_or_proposal(tmp_path / folder)
