"""Downloads by file://, and from a server that closes connections, resumes, and sends changed or wrong files."""

from __future__ import annotations

import hashlib
import shutil
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner

from rgwot.cli import cli
from rgwot.datasets.fetch import DownloadFile, fetch, sources
from rgwot.runtime.errors import RgwotError

CONTENT = bytes(range(256)) * 20_000  # 5 MB, several blocks


class Site:
    """A server of one file, which once closes the connection after ``breaks_at`` bytes."""

    def __init__(self) -> None:
        self.content, self.tag, self.breaks_at = CONTENT, '"one"', 0
        self.length = True
        self.asked: list[str | None] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requested = self.headers.get("Range")
                site.asked.append(requested)
                start = 0
                if requested and self.headers.get("If-Range") == site.tag:
                    start = int(requested.removeprefix("bytes=").rstrip("-"))
                self.send_response(206 if start else 200)
                if site.length:
                    self.send_header("Content-Length", str(len(site.content) - start))
                self.send_header("ETag", site.tag)
                self.end_headers()
                until, site.breaks_at = site.breaks_at or len(site.content), 0
                self.wfile.write(site.content[start:until])

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/x.pt"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    made = Site()
    yield made
    made.server.shutdown()
    made.server.server_close()


def row(address: str, file: str = "x.pt", sha256: str = "") -> DownloadFile:
    return DownloadFile("mine", "mine", file, address, "", sha256, "", "")


def test_an_interrupted_download_goes_on_where_it_stopped(site: Site, tmp_path: Path) -> None:
    download = row(site.address, sha256=hashlib.sha256(CONTENT).hexdigest())
    site.breaks_at = 3_000_000
    with pytest.raises(RgwotError, match=r"ended after \d+ of 5120000 bytes; run the command again"):
        fetch([download], tmp_path)
    assert not (tmp_path / "mine/x.pt").exists()
    (part,) = (tmp_path / "mine").glob("*.part")
    have = part.stat().st_size
    assert 0 < have <= 3_000_000
    assert fetch([download], tmp_path) == [tmp_path / "mine/x.pt"]
    assert site.asked == [None, f"bytes={have - 1}-"]
    assert (tmp_path / "mine/x.pt").read_bytes() == CONTENT
    assert not list((tmp_path / "mine").glob("*.part"))
    # An existing file is not downloaded again.
    assert fetch([download], tmp_path) == []
    assert len(site.asked) == 2


def test_a_file_that_changed_meanwhile_begins_anew(site: Site, tmp_path: Path) -> None:
    site.breaks_at = 3_000_000
    with pytest.raises(RgwotError, match="ended after"):
        fetch([row(site.address)], tmp_path)
    site.content, site.tag = CONTENT[::-1], '"two"'
    fetch([row(site.address)], tmp_path)
    assert (tmp_path / "mine/x.pt").read_bytes() == CONTENT[::-1]


def test_another_checksum_leaves_nothing(site: Site, tmp_path: Path) -> None:
    with pytest.raises(RgwotError, match=r"SHA-256 is [0-9a-f]{64}, expected 0{64}; the download is removed"):
        fetch([row(site.address, sha256="0" * 64)], tmp_path)
    assert not list((tmp_path / "mine").glob("*x.pt*"))


@pytest.mark.parametrize(("mark", "name"), [(" ", "./a/x.pt"), ("*", "x.pt"), (" ", "other.pt")])
def test_checksums_may_stand_in_a_list(tmp_path: Path, caplog: pytest.LogCaptureFixture, mark: str, name: str) -> None:
    (tmp_path / "x.pt").write_bytes(b"abc")
    (tmp_path / "SHA256SUMS").write_text(f"{hashlib.sha256(b'abc').hexdigest()} {mark}{name}\n")
    found = row((tmp_path / "x.pt").as_uri(), "a/x.pt", (tmp_path / "SHA256SUMS").as_uri())
    (made,) = fetch([found], tmp_path / "data")
    assert made.read_bytes() == b"abc"
    missing = f"{found.sha256}: no checksum is published for a/x.pt, so it is not checked"
    assert caplog.messages == [missing] * (name == "other.pt")


def test_an_address_that_is_not_there(site: Site, tmp_path: Path) -> None:
    site.server.shutdown()
    site.server.server_close()
    for address in (site.address, (tmp_path / "x.pt").as_uri()):
        with pytest.raises(RgwotError, match=r"x\.pt: cannot be read"):
            fetch([row(address)], tmp_path)
    with pytest.raises(RgwotError, match="no such folder"):
        fetch([row("")], tmp_path, (tmp_path / "nothing").as_uri())


def zipped(path: Path, names: dict[str, bytes], link: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in names.items():
            archive.writestr(name, content)
        if link:
            info = zipfile.ZipInfo(link)
            info.external_attr = 0o120777 << 16
            archive.writestr(info, "/etc/passwd")
    return path


def test_a_zip_is_unpacked_where_it_lies_once(tmp_path: Path) -> None:
    zipped(tmp_path / "mirror/mine/x.zip", {"a/1.npy": b"1", "a/b/2.npy": b"2"})
    (tmp_path / "mirror/mine/by_hand.csv").write_text("3")
    found = row("", "x.zip")
    assert len(fetch([found], tmp_path / "data", (tmp_path / "mirror").as_uri())) == 2
    files = {p.relative_to(tmp_path / "data/mine").as_posix() for p in (tmp_path / "data/mine").rglob("[!.]*")}
    assert files == {"a", "a/1.npy", "a/b", "a/b/2.npy", "by_hand.csv"}
    assert fetch([found], tmp_path / "data", (tmp_path / "mirror").as_uri()) == []


@pytest.mark.parametrize(
    "name", ["../out.npy", "/tmp/out.npy", "a/../../out.npy", "..\\out.npy", "C:\\out.npy", "link"]
)
def test_no_path_leaves_the_folder(tmp_path: Path, name: str) -> None:
    archive = zipped(
        tmp_path / "x.zip", {"good.npy": b"1", **({} if name == "link" else {name: b"2"})}, "a" * (name == "link")
    )
    fetch([row(archive.as_uri(), "x.zip")], tmp_path / "data")
    assert (tmp_path / "data/mine/good.npy").read_bytes() == b"1"
    assert {path.name for path in tmp_path.iterdir()} == {"x.zip", "data"}
    assert {path.name for path in (tmp_path / "data").iterdir()} == {"mine"}
    assert not any(path.is_symlink() for path in tmp_path.rglob("*"))
    assert not Path("/tmp/out.npy").exists()


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_zip_leaves_nothing(tmp_path: Path, damage: str) -> None:
    archive = zipped(tmp_path / "x.zip", {"good.npy": b"1", "a/1.npy": CONTENT})
    content = bytearray(archive.read_bytes())
    if damage == "cut":
        del content[-200:]
    else:
        content[200] ^= 255
    archive.write_bytes(content)
    with pytest.raises(RgwotError, match="damaged"):
        fetch([row(archive.as_uri(), "x.zip")], tmp_path / "data")
    assert not list((tmp_path / "data").rglob("*.npy")) + list((tmp_path / "data").rglob("*.zip"))


def test_whatever_byte_of_a_zip_is_wrong_it_is_unpacked_or_removed(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", {"a/1.npy": b"1" * 99, "b/ü.npy": b"2"})
    content, said = archive.read_bytes(), []
    for place in range(len(content)):
        for value in {0, 128, 255, content[place] ^ 1} - {content[place]}:
            archive.write_bytes(content[:place] + bytes([value]) + content[place + 1 :])
            shutil.rmtree(tmp_path / "data", ignore_errors=True)
            try:
                fetch([row(archive.as_uri(), "x.zip")], tmp_path / "data")
            except RgwotError as told:
                said.append(str(told))
            assert not (tmp_path / "data/mine/x.zip").exists()
    assert len(said) > len(content)
    assert not [one for one in said if "\n" in one or "removed; fetch it again" not in one]


@pytest.mark.parametrize("name", ["n" * 300, "a/" * 3000 + "b"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path, name: str) -> None:
    archive = zipped(tmp_path / "x.zip", {"good.npy": b"1", name: b"2"})
    with pytest.raises(RgwotError, match="damaged"):
        fetch([row(archive.as_uri(), "x.zip")], tmp_path / "data")
    assert not list((tmp_path / "data").rglob("*.npy")) + list((tmp_path / "data").rglob("*.zip"))


@pytest.mark.parametrize("stated", [True, False])
def test_a_download_beyond_its_size_is_stopped(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stated: bool
) -> None:
    monkeypatch.setattr("rgwot.datasets.fetch.BYTES_AT_ONCE", 2**16)
    large = DownloadFile("mine", "mine", "x.pt", site.address, "0.001 GB", "", "", "")
    if not stated:
        site.length = False
    with pytest.raises(RgwotError, match=r"more than 0.0012 GB, expected 0.001 GB; the download is removed"):
        fetch([large], tmp_path)
    assert not list((tmp_path / "mine").glob("*.pt*.part"))


def test_a_zip_that_grows_too_much_is_removed(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", {"zeros.npy": bytes(10**7)})
    with pytest.raises(RgwotError, match=r"damaged \(10000000 bytes unpacked"):
        fetch([row(archive.as_uri(), "x.zip")], tmp_path / "data")
    assert {path.name for path in (tmp_path / "data/mine").iterdir()} <= {".x.zip.fetched"}


def test_a_member_below_a_file_is_refused(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", {"a": b"1", "a/1.npy": b"2"})
    with pytest.raises(RgwotError, match="damaged"):
        fetch([row(archive.as_uri(), "x.zip")], tmp_path / "data")
    assert not list((tmp_path / "data/mine").glob("*"))
    (tmp_path / "data/mine/b").write_bytes(b"own")
    with pytest.raises(RgwotError, match="data/mine/b is a file, expected a folder"):
        fetch([row(zipped(tmp_path / "y.zip", {"b/1.npy": b"2"}).as_uri(), "y.zip")], tmp_path / "data")
    assert (tmp_path / "data/mine/b").read_bytes() == b"own"


def test_a_zip_writes_over_nothing(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "x.zip", {"a/1.npy": b"1"})
    own = tmp_path / "data/mine/a/1.npy"
    own.parent.mkdir(parents=True)
    own.write_bytes(b"own")
    with pytest.raises(RgwotError, match=r"'a/1.npy' exists already with another size"):
        fetch([row(archive.as_uri(), "x.zip")], tmp_path / "data")
    assert own.read_bytes() == b"own"


def test_an_unpacking_that_was_killed_is_finished(tmp_path: Path) -> None:
    zipped(tmp_path / "data/mine/x.zip", {"a/1.npy": b"1", "a/2.npy": b"2"})
    (tmp_path / "data/mine/a").mkdir()
    (tmp_path / "data/mine/a/1.npy").write_bytes(b"1")
    assert len(fetch([row("https://unused.invalid", "x.zip")], tmp_path / "data")) == 1
    assert (tmp_path / "data/mine/a/2.npy").read_bytes() == b"2"
    assert not (tmp_path / "data/mine/x.zip").exists()


def test_nothing_is_downloaded_before_terms_are_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mirror = tmp_path / "mirror"
    place = mirror / "egoprocel_fact/egoprocel_small/fact_npy_features_4fps_full.pt"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"features")
    (mirror / "egoprocel_fact/SHA256SUMS").write_text(
        f"{hashlib.sha256(b'features').hexdigest()}  egoprocel_small/{place.name}\n"
    )
    asked = CliRunner().invoke(cli, ["fetch", "egoprocel_fact"])
    assert asked.exit_code == 1
    assert "13.92 GB" in asked.output
    assert "terms" in asked.output
    assert not (tmp_path / "data").exists()
    invoked = CliRunner().invoke(cli, ["fetch", "egoprocel_fact", "--accept", "--from", mirror.as_uri()])
    assert invoked.exit_code == 0, invoked.output
    assert (tmp_path / "data" / place.relative_to(mirror)).read_bytes() == b"features"
    place.write_bytes(b"other")
    wrong = CliRunner().invoke(cli, ["fetch", "egoprocel_fact", "--accept", "--to", "b", "--from", mirror.as_uri()])
    assert "SHA-256" in str(wrong.exception)


def test_what_only_people_can_download_comes_from_a_mirror(tmp_path: Path) -> None:
    own = tmp_path / "mirror/fact/egoprocel/groundTruth/0003.txt"
    own.parent.mkdir(parents=True)
    own.write_text("background\n")
    words = ["fetch", "fact", "--to", str(tmp_path / "data")]
    assert CliRunner().invoke(cli, [*words, "--accept"]).exit_code == 0
    assert not (tmp_path / "data").exists()
    invoked = CliRunner().invoke(cli, [*words, "--accept", "--from", (tmp_path / "mirror").as_uri()])
    assert invoked.exit_code == 0, invoked.output
    assert (tmp_path / "data/fact/egoprocel/groundTruth/0003.txt").read_text() == "background\n"


def test_every_source_says_what_to_expect() -> None:
    for source in sources():
        assert source.terms
        assert source.size
        assert bool(source.file) == bool(source.address)
        assert source.address or source.by_hand
        assert not source.file.startswith(("/", "..")), source.file
        assert source.address.startswith("https://") or not source.address
