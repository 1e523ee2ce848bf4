"""Responses of the server: pages and files of the study, the state of its runs, and changes."""

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

from rgwot.paths import RESULTS
from rgwot.reporting.page.shell import home_page
from rgwot.runtime.errors import RgwotError, one_line
from rgwot.study.datasets import video_file
from rgwot.study.study import Task
from rgwot.window.channels import channels
from rgwot.window.last_pages import as_window, last_page
from rgwot.window.proxies import Playable
from rgwot.window.saving import SomebodyElses
from rgwot.window.session import Busy, Session
from rgwot.window.study_files import entries_of

#: Types of the files that pages link to; there are no others.
TYPES = {".png": "image/png", ".pdf": "application/pdf", ".csv": "text/csv; charset=utf-8"}
#: Types of the videos that browsers play, by suffix.
VIDEOS = {".mp4": "video/mp4", ".m4v": "video/mp4", ".mov": "video/mp4", ".webm": "video/webm"}

#: Largest number of key steps, and of questions at a time.
MOST_STEPS, MOST_QUESTIONS = 100, 50

Answer = Callable[[Request, Mapping[str, Any]], object]


class _Endpoints:
    """The answers to the requests of a session's pages: those that only read, and those that change something."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def state(self, request: Request) -> object:
        asked = request.query_params
        window, page = (asked.get(key, "")[:64] for key in ("window", "page"))
        windows = self.session.seen(window, page, asked.get("hidden") == "true")
        return {**self.session.state(), "windows": windows}

    def page(self, request: Request) -> Response:
        dataset, task = request.path_params["dataset"], request.path_params["task"]
        entries_of(self.session.study(), dataset, task)
        page = last_page(dataset, task)
        if page is None:
            return RedirectResponse("/", 303)
        self.session.answers.warm(dataset, task)
        # First the digests: a file that changes meanwhile is then refused, and not replaced by what nobody saw.
        files = self.session.files(dataset, task)
        return HTMLResponse(as_window(page, files, self.session.answers.labels_now(dataset, task)))

    def result(self, request: Request) -> Response:
        file = Path(RESULTS, request.path_params["path"])
        root = Path(RESULTS).resolve()
        if file.suffix not in TYPES or not file.resolve().is_relative_to(root) or not file.is_file():
            return PlainTextResponse("rgwot: no such result\n", 404)
        return FileResponse(file, media_type=TYPES[file.suffix])

    def of_video(self, request: Request) -> Playable:
        dataset, task, name = (request.path_params[part] for part in ("dataset", "task", "video"))
        study = self.session.study()
        if name not in entries_of(study, dataset, task):
            raise RgwotError(f"{name}: no such video")
        return self.session.proxies.playable(Path(video_file(Task(study, dataset, task), name)))

    def video(self, request: Request) -> Response:
        file, fault = self.of_video(request)
        if file is None:
            return PlainTextResponse(f"rgwot: {fault or 'a playable copy is being made'}\n", 503 if not fault else 404)
        return FileResponse(file, media_type=VIDEOS.get(file.suffix.lower(), "video/mp4"))

    def playable(self, request: Request) -> object:
        file, fault = self.of_video(request)
        return {"ready": file is not None, "fault": fault}

    def log(self, _: Request) -> object:
        return {"log": self.session.runs.log()}

    def files(self, request: Request) -> object:
        dataset, task = request.path_params["dataset"], request.path_params["task"]
        return self.session.files(dataset, task, request.query_params.get("only", ""))

    def answer(self, request: Request) -> object:
        return self.session.answers.latest(request.path_params["dataset"], request.path_params["task"])

    def questions(self, request: Request) -> object:
        dataset, task = request.path_params["dataset"], request.path_params["task"]
        entries_of(self.session.study(), dataset, task)
        number = min(MOST_QUESTIONS, 1 + _whole(request.query_params.get("skipped", "0"), "skipped"))
        return self.session.from_results(lambda: self.session.answers.questions(dataset, task, number))

    def with_K(self, request: Request) -> object:
        dataset, task = request.path_params["dataset"], request.path_params["task"]
        entries_of(self.session.study(), dataset, task)
        K = _number(_whole(request.path_params["K"], "K"))
        return self.session.from_results(lambda: self.session.answers.with_K(dataset, task, K))

    def of_features(self, request: Request) -> object:
        dataset, task, name = (request.path_params[part] for part in ("dataset", "task", "video"))
        if name not in entries_of(self.session.study(), dataset, task):
            raise RgwotError(f"{name}: no such video")
        text = request.query_params.get("chosen", "")
        return channels(dataset, task, name, [_whole(one, "chosen") for one in text[:200].split(",") if one])

    def save(self, request: Request, content: Mapping[str, Any]) -> object:
        text = content.get("text")
        if text is not None and not isinstance(text, str):
            raise RgwotError("text: expected a text or null")
        digest = self.session.save(
            _text(content, "kind"), request.path_params["dataset"], request.path_params["task"],
            _text(content, "video"), text, _text(content, "base"), content.get("apart") is True,
        )  # fmt: skip
        return {"base": digest}

    def save_K(self, _: Request, content: Mapping[str, Any]) -> object:
        self.session.save_K(_number(content.get("K")))
        return {}

    def save_another_seed(self, _: Request, content: Mapping[str, Any]) -> object:
        self.session.save_another_seed()
        return {}

    def begin(self, _: Request, content: Mapping[str, Any]) -> object:
        self.session.begin(_text(content, "study"), _text(content, "task"))
        return {}

    def run(self, _: Request, content: Mapping[str, Any]) -> object:
        (self.session.runs.cancel if content.get("cancel") is True else self.session.runs.want)()
        return {}

    def closed(self, _: Request, content: Mapping[str, Any]) -> object:
        self.session.gone(_text(content, "window"), _text(content, "page"))
        return {}


def application(session: Session) -> Starlette:
    """Return the application of a session, to be put behind `rgwot.window.guard.Guard`."""
    endpoints = _Endpoints(session)
    task = "{dataset}/{task}"
    return Starlette(
        routes=[
            Route("/", _read(lambda _: HTMLResponse(home_page()))),
            Route(f"/{RESULTS}/report/{task}.html", _read(endpoints.page)),
            Route(f"/{RESULTS}/{{path:path}}", _read(endpoints.result)),
            Route(f"/video/{task}/{{video}}", _read(endpoints.video)),
            Route(f"/api/playable/{task}/{{video}}", _read(endpoints.playable)),
            Route("/api/state", _read(endpoints.state)),
            Route("/api/log", _read(endpoints.log)),
            Route(f"/api/files/{task}", _read(endpoints.files)),
            Route(f"/api/answer/{task}", _read(endpoints.answer)),
            Route(f"/api/channels/{task}/{{video}}", _read(endpoints.of_features)),
            Route(f"/api/questions/{task}", _read(endpoints.questions)),
            Route(f"/api/K/{task}/{{K}}", _read(endpoints.with_K)),
            Route(f"/api/save/{task}", _change(endpoints.save), methods=["PUT"]),
            Route("/api/K", _change(endpoints.save_K), methods=["PUT"]),
            Route("/api/seeds", _change(endpoints.save_another_seed), methods=["POST"]),
            Route("/api/begin", _change(endpoints.begin), methods=["POST"]),
            Route("/api/run", _change(endpoints.run), methods=["POST"]),
            Route("/api/closed", _change(endpoints.closed), methods=["POST"]),
        ]
    )


def _read(answer: Callable[[Request], object]) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a request that changes nothing."""

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(_answered, lambda: answer(request))

    return endpoint


def _change(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a request for a change, sent as JSON with keys and values."""

    async def endpoint(request: Request) -> Response:
        try:
            content = json.loads(await request.body())
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            return JSONResponse({"error": "body: expected JSON with keys and values"}, 400)
        return await run_in_threadpool(_answered, lambda: answer(request, content))

    return endpoint


def _answered(answer: Callable[[], object]) -> Response:
    """Return an answer as a response; a mistake is one line, with a status from which a page knows what to do."""
    try:
        found = answer()
    except SomebodyElses as error:
        return JSONResponse({"error": str(error), "apart": error.apart.name}, 409)
    except Busy as error:
        return JSONResponse({"error": str(error)}, 503)
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
    """Return a number of key steps; raise RgwotError for anything else."""
    if not isinstance(K, int) or isinstance(K, bool) or not 2 <= K <= MOST_STEPS:
        raise RgwotError(f"K: found {K!r}, expected a whole number from 2 to {MOST_STEPS}")
    return K


def _whole(text: str, key: str) -> int:
    if not text.isdecimal() or len(text) > 20:
        raise RgwotError(f"{key}: found {text[:20]!r}, expected a whole number")
    return int(text)
