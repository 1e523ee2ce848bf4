"""What the server answers: pages and files of the study, the state of its runs, and changes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from rgwot import paths
from rgwot.paths import RESULTS
from rgwot.reporting.page.shell import as_window, home_page
from rgwot.runtime.errors import RgwotError, one_line
from rgwot.study.datasets import video_file
from rgwot.window.channels import channels
from rgwot.window.proxies import Playable
from rgwot.window.saving import SomebodyElses
from rgwot.window.session import Session
from rgwot.window.study_files import entries_of, group_table

#: Types of the files that pages link to; there are no others.
TYPES = {".png": "image/png", ".pdf": "application/pdf", ".csv": "text/csv; charset=utf-8"}
#: Types of the videos that browsers play, by suffix.
VIDEOS = {".mp4": "video/mp4", ".m4v": "video/mp4", ".mov": "video/mp4", ".webm": "video/webm"}

#: Largest number of key steps, and of questions at a time.
MOST_STEPS, MOST_QUESTIONS = 100, 50

Answer = Callable[[Request, Mapping[str, Any]], Any]


def application(session: Session) -> Starlette:
    """Return the application of a session, to be put behind `rgwot.window.guard.Guard`."""

    def read(answer: Callable[[Request], Any]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await run_in_threadpool(_answered, lambda: answer(request))

        return endpoint

    def change(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            try:
                content = json.loads(await request.body())
            except (ValueError, RecursionError):
                content = None
            if not isinstance(content, dict):
                return JSONResponse({"error": "body: expected JSON with keys and values"}, 400)
            return await run_in_threadpool(_answered, lambda: answer(request, content))

        return endpoint

    def state(request: Request) -> Any:
        windows = session.seen(str(request.query_params.get("window", ""))[:64])
        return {**session.state(), "windows": windows}

    def page(request: Request) -> Response:
        dataset, task = request.path_params["dataset"], request.path_params["task"]
        entries_of(session.study(), dataset, task)
        file = paths.at(paths.PAGE, dataset=dataset, task=task)
        if not file.is_file():
            return RedirectResponse("/", 303)
        session.answers.warm(dataset, task)
        return HTMLResponse(as_window(file))

    def result(request: Request) -> Response:
        file = Path(RESULTS, request.path_params["path"])
        root = Path(RESULTS).resolve()
        if file.suffix not in TYPES or not file.resolve().is_relative_to(root) or not file.is_file():
            return PlainTextResponse("rgwot: no such result\n", 404)
        return FileResponse(file, media_type=TYPES[file.suffix])

    def of_video(request: Request) -> Playable:
        dataset, task, name = (request.path_params[part] for part in ("dataset", "task", "video"))
        study = session.study()
        if name not in entries_of(study, dataset, task):
            raise RgwotError(f"{name}: no such video")
        return session.proxies.playable(Path(video_file(study, dataset, task, name)))

    def video(request: Request) -> Response:
        file, fault = of_video(request)
        if file is None:
            return PlainTextResponse(f"rgwot: {fault or 'a playable copy is being made'}\n", 503 if not fault else 404)
        return FileResponse(file, media_type=VIDEOS.get(file.suffix.lower(), "video/mp4"))

    def playable(request: Request) -> Any:
        file, fault = of_video(request)
        return {"ready": file is not None, "fault": fault}

    def log(_: Request) -> Any:
        return {"log": session.runs.log()}

    def files(request: Request) -> Any:
        dataset, task = request.path_params["dataset"], request.path_params["task"]
        return session.files(dataset, task, _whole(request.query_params.get("made", "0"), "made"))

    def answer(request: Request) -> Any:
        return session.answers.latest(request.path_params["dataset"], request.path_params["task"])

    def questions(request: Request) -> Any:
        dataset, task = request.path_params["dataset"], request.path_params["task"]
        entries_of(session.study(), dataset, task)
        number = min(MOST_QUESTIONS, 1 + _whole(request.query_params.get("skipped", "0"), "skipped"))
        return session.answers.questions(dataset, task, number)

    def with_K(request: Request) -> Any:
        dataset, task = request.path_params["dataset"], request.path_params["task"]
        entries_of(session.study(), dataset, task)
        return session.answers.with_K(dataset, task, _number(_whole(request.path_params["K"], "K")))

    def groups(request: Request) -> Any:
        return group_table(session.study(), request.path_params["dataset"], request.path_params["task"])

    def of_features(request: Request) -> Any:
        dataset, task, name = (request.path_params[part] for part in ("dataset", "task", "video"))
        if name not in entries_of(session.study(), dataset, task):
            raise RgwotError(f"{name}: no such video")
        text = request.query_params.get("chosen", "")
        return channels(dataset, task, name, [_whole(one, "chosen") for one in text[:200].split(",") if one])

    def save(request: Request, content: Mapping[str, Any]) -> Any:
        text = content.get("text")
        if text is not None and not isinstance(text, str):
            raise RgwotError("text: expected a text or null")
        digest = session.save(
            _text(content, "kind"), request.path_params["dataset"], request.path_params["task"],
            _text(content, "video"), text, _text(content, "base"), content.get("apart") is True,
        )  # fmt: skip
        return {"base": digest}

    def save_K(_: Request, content: Mapping[str, Any]) -> Any:
        session.save_K(_number(content.get("K")))
        return {}

    def begin(_: Request, content: Mapping[str, Any]) -> Any:
        session.begin(_text(content, "study"), _text(content, "task"))
        return {}

    def run(_: Request, content: Mapping[str, Any]) -> Any:
        (session.runs.cancel if content.get("cancel") is True else session.runs.want)()
        return {}

    def closed(_: Request, content: Mapping[str, Any]) -> Any:
        session.gone(_text(content, "window"))
        return {}

    task = "{dataset}/{task}"
    return Starlette(
        routes=[
            Route("/", read(lambda _: HTMLResponse(home_page()))),
            Route(f"/{RESULTS}/report/{task}.html", read(page)),
            Route(f"/{RESULTS}/{{path:path}}", read(result)),
            Route(f"/video/{task}/{{video}}", read(video)),
            Route(f"/api/playable/{task}/{{video}}", read(playable)),
            Route("/api/state", read(state)),
            Route("/api/log", read(log)),
            Route(f"/api/files/{task}", read(files)),
            Route(f"/api/answer/{task}", read(answer)),
            Route(f"/api/groups/{task}", read(groups)),
            Route(f"/api/channels/{task}/{{video}}", read(of_features)),
            Route(f"/api/questions/{task}", read(questions)),
            Route(f"/api/K/{task}/{{K}}", read(with_K)),
            Route(f"/api/save/{task}", change(save), methods=["PUT"]),
            Route("/api/K", change(save_K), methods=["PUT"]),
            Route("/api/begin", change(begin), methods=["POST"]),
            Route("/api/run", change(run), methods=["POST"]),
            Route("/api/closed", change(closed), methods=["POST"]),
        ]
    )


def _answered(answer: Callable[[], Any]) -> Response:
    """Return an answer as a response; a mistake is one line, with the status by which a page tells what to do."""
    try:
        found = answer()
    except SomebodyElses as error:
        return JSONResponse({"error": str(error), "apart": error.apart.name}, 409)
    except RgwotError as error:
        return JSONResponse({"error": str(error)}, 400)
    except OSError as error:
        return JSONResponse({"error": one_line(error)}, 507)
    return found if isinstance(found, Response) else JSONResponse(found)


def _text(content: Mapping[str, Any], key: str) -> str:
    value = content.get(key, "")
    if not isinstance(value, str):
        raise RgwotError(f"{key}: found {value!r}, expected a text")
    return value


def _number(K: object) -> int:
    """Return a number of key steps; RgwotError for anything else."""
    if not isinstance(K, int) or isinstance(K, bool) or not 2 <= K <= MOST_STEPS:
        raise RgwotError(f"K: found {K!r}, expected a whole number from 2 to {MOST_STEPS}")
    return K


def _whole(text: str, key: str) -> int:
    if not text.isdecimal() or len(text) > 20:
        raise RgwotError(f"{key}: found {text[:20]!r}, expected a whole number")
    return int(text)
