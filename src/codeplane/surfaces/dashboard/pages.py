"""The addresses below `/dashboard`: logging in, pages, forms, live events, the data of a page as JSON."""

from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode

import anyio.to_thread
import jinja2
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from codeplane.core.callers import DASHBOARD, Caller, CallerKind
from codeplane.core.errors import CodePlaneError, ErrorReport
from codeplane.operations.answer import Answer
from codeplane.operations.catalog import OPERATIONS, ROUTED
from codeplane.operations.command import Route as Address
from codeplane.surfaces.dashboard.login import LINK_SECONDS, LOGIN_SECONDS, Login, LoginBook, Notice
from codeplane.surfaces.dashboard.package_files import static_file
from codeplane.surfaces.dashboard.page_context import PageContext, Query, View
from codeplane.surfaces.dashboard.rendering import make_environment, page
from codeplane.surfaces.dashboard.views.catalog import VIEWS
from codeplane.surfaces.server.access import COOKIE
from codeplane.surfaces.server.operator_token import is_operator, is_same_secret, operator_token
from codeplane.surfaces.server.rest import error_response, event_stream, start_of

if TYPE_CHECKING:
    from codeplane.surfaces.server.host import ServerHost

_MAX_FORM = 64 * 1024
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    # Not `no-referrer`: browsers then send forms with the Origin `null`, which cannot be told from a foreign page.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_STATUS_OF_ERROR = {
    "APPROVAL_NOT_FOUND": 404,
    "INTERNAL_ERROR": 500,
    "NOT_FOUND": 404,
    "SERVER_SHUTTING_DOWN": 503,
    "TASK_NOT_FOUND": 404,
}


def dashboard_app(host: "ServerHost") -> Starlette:
    """Return the application behind `/dashboard`."""
    pages = _Pages(host)
    return Starlette(
        routes=[
            Route("/dashboard/login-links", pages.make_link, methods=["POST"]),
            Route("/dashboard/login", pages.log_in),
            Route("/dashboard/logout", pages.log_out, methods=["POST"]),
            Route("/dashboard/static/{name}", pages.static),
            Route("/dashboard/events", pages.events),
            Route("/dashboard/is-logged-in", pages.is_logged_in),
            *pages.documents(),
            *(
                Route(
                    f"/dashboard{view.path}", partial(pages.view, view), methods=["GET", "POST"][: 1 + bool(view.act)]
                )
                for view in VIEWS
            ),
        ],
        exception_handlers={
            CodePlaneError: pages.refused,
            HTTPException: pages.not_served,
            jinja2.TemplateNotFound: pages.no_fragment,
            500: pages.broken,
        },
    )


class _Pages:
    def __init__(self, host: "ServerHost") -> None:
        self._host = host
        workspace = host.workspace
        self._book = LoginBook(f"{workspace.repo_id}\n{workspace.root}", self._token, workspace.clock)
        self._environment = make_environment()

    def _token(self) -> str:
        # Read each time: whoever deletes the token file to get a new one ends every login with it.
        return operator_token(self._host.workspace.places.user.operator_token)

    async def make_link(self, request: Request) -> Response:
        """Answer a person who has shown the operator token with a link that works once."""
        if not is_operator(request.headers.get("authorization"), self._token()):
            return error_response(401, ErrorReport("OPERATOR_TOKEN_REQUIRED", "Only a person can open the dashboard."))
        url = f"http://127.0.0.1:{self._host.facts.port}/dashboard/login?code={self._book.new_code()}"
        return JSONResponse({"url": url, "expires_in_seconds": LINK_SECONDS}, headers=_HEADERS)

    async def log_in(self, request: Request) -> Response:
        """Exchange the code of a link for a cookie."""
        client = (request.client.host, request.client.port) if request.client else None
        server = request.scope.get("server")
        if self._host.access.is_strangers(client, server):
            # The list of processes shows every user the link that a browser was started with.
            return await self._login_page(request, "This link is for the user who owns the server.")
        cookie = self._redeemed(request)
        if cookie is None and self._login(request) is not None:
            return RedirectResponse("/dashboard", 303, headers=_HEADERS)
        if cookie is None:
            return await self._login_page(
                request, "This link was used already, has expired, or is not from this server."
            )
        answer = RedirectResponse("/dashboard", 303, headers={**_HEADERS, "referrer-policy": "no-referrer"})
        set_cookie = partial(
            answer.set_cookie, max_age=LOGIN_SECONDS, path="/dashboard", httponly=True, samesite="strict"
        )
        set_cookie(self._book.cookie_name, cookie)
        if not self._host.access.is_owners(client, server):
            # Where the system does not tell whose a connection is, the guard needs to see the secret each time.
            set_cookie(COOKIE, self._host.facts.secret)
        return answer

    def _redeemed(self, request: Request) -> str | None:
        # Programs that only look at a link ask with HEAD, browsers that expect a click say so.
        only_looks = request.method != "GET" or "prefetch" in request.headers.get("sec-purpose", "")
        return None if only_looks else self._book.redeem(request.query_params.get("code", ""))

    async def log_out(self, request: Request) -> Response:
        """End the login of this browser, in all of its tabs."""
        login = self._login(request)
        if login is not None:
            await self._checked_form(request, login)
            self._book.end(login)
        answer = RedirectResponse("/dashboard", 303, headers=_HEADERS)
        answer.delete_cookie(self._book.cookie_name, path="/dashboard")
        return answer

    async def static(self, request: Request) -> Response:
        """Answer with a file of the package; none of them tells anything about the repository."""
        found = static_file(request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        content, kind, tag = found
        headers = {"etag": tag, "cache-control": "no-cache", "x-content-type-options": "nosniff"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)

    async def view(self, view: View, request: Request) -> Response:
        """Answer with a page, or carry out what a form of it asks for."""
        login = self._login(request)
        if login is None:
            return await self._login_page(request)
        context = self._context(login)
        if request.method == "POST" and view.act is not None:
            form = {**await self._checked_form(request, login), **request.path_params}
            done = await view.act(context, form)
            return self._led_to(login, done.address, done.notice)
        query = {**request.query_params, **request.path_params}
        # Read before everything else, so that the page can ask for what came since.
        newest = (await context.read("list_rows", limit=1))["rows"]
        data = {"newest_row": newest[0]["seq"] if newest else 0, **await view.show(context, query)}
        waiting = await context.read("list_approvals", state="pending")
        return await self._page(view, login, request, {**data, "n_waiting": len(waiting["results"])})

    async def events(self, request: Request) -> Response:
        """Stream the rows of the ledger while the login lasts."""
        login = self._login(request)
        if login is None:
            return error_response(401, ErrorReport("OPERATOR_TOKEN_REQUIRED", "This needs a login: `cpl dashboard`."))
        headers = {**_HEADERS, "x-accel-buffering": "no"}
        stream = self._while_logged_in(request, event_stream(self._host, start_of(request), is_live=True))
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

    async def is_logged_in(self, request: Request) -> Response:
        """Tell a page that has lost its stream whether it only has to wait."""
        return Response(status_code=401 if self._login(request) is None else 204, headers=_HEADERS)

    async def _while_logged_in(self, request: Request, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        # A browser asks again at once when the server is back, and is told that the stream has begun.
        yield b"retry: 500\nevent: hello\ndata: {}\n\n"
        async for part in stream:
            if self._login(request) is None:
                return
            yield part

    def documents(self) -> list[Route]:
        """Return the addresses of REST that only read, for people who are logged in."""
        return [
            Route("/dashboard/rest/status", partial(self._told, "status")),
            Route("/dashboard/rest/status/health", partial(self._told, "health")),
            *self._operation_documents(),
        ]

    def _operation_documents(self) -> list[Route]:
        return [
            Route(f"/dashboard/rest{address.path}", partial(self._document, name, address))
            for name in ROUTED
            for address in OPERATIONS[name].routes
            if address.method == "GET" and OPERATIONS[name].effect.value == "read" and not address.setting
        ]

    async def _told(self, what: str, request: Request) -> Response:
        """Answer with what the server tells of itself."""
        login = self._login(request)
        if login is None:
            return await self._login_page(request)
        context = self._context(login)
        return JSONResponse(await (context.health() if what == "health" else context.status()), headers=_HEADERS)

    async def _document(self, name: str, address: Address, request: Request) -> Response:
        login = self._login(request)
        if login is None:
            return await self._login_page(request)
        arguments = {**request.query_params, **request.path_params}
        answer = await self._host.runner_for_people.run(name, arguments, self._caller(login), None)
        if isinstance(answer, Answer) and answer.result is not None:
            return JSONResponse(address.answer(answer.result.model_dump(mode="json")), headers=_HEADERS)
        report = answer.error if isinstance(answer, Answer) else answer
        return _told_error(400, report or ErrorReport("INTERNAL_ERROR", "There is no answer."))

    async def refused(self, request: Request, error: Exception) -> Response:
        """Answer with a page that says what was wrong."""
        report = error.report() if isinstance(error, CodePlaneError) else ErrorReport("INTERNAL_ERROR", "Unexpected.")
        login = self._login(request)
        if login is None:
            return await self._login_page(request)
        status = _STATUS_OF_ERROR.get(report.error, 400)
        data = {"report": report.as_dict(), "n_waiting": 0, "newest_row": ""}
        return await self._page(_ERROR, login, request, data, status=status)

    async def not_served(self, request: Request, error: Exception) -> Response:
        """Answer an unknown address or method."""
        status = error.status_code if isinstance(error, HTTPException) else 404
        message = f"The dashboard has no page at {request.url.path[:200]}."
        if status == 405:
            message = f"{request.url.path[:200]} does not take this method."
        answer = await self.refused(request, CodePlaneError("NOT_FOUND", message))
        answer.status_code = status if answer.status_code != 401 else 401
        return answer

    async def no_fragment(self, request: Request, _error: Exception) -> Response:
        """Answer a question for a part that the page does not have."""
        return await self.refused(request, CodePlaneError("NOT_FOUND", "This page has no such part."))

    async def broken(self, request: Request, _error: Exception) -> Response:
        """Answer when a page met a bug, or a row that somebody has damaged; the guard logs it."""
        message = "This page cannot be shown: the server met an unexpected problem."
        hint = "The log of the server says why. The page Ledger says whether the record is damaged."
        return await self.refused(request, CodePlaneError("INTERNAL_ERROR", message, hint=hint))

    def _led_to(self, login: Login, address: str, notice: Notice) -> Response:
        key = self._book.leave_notice(login, notice)
        mark = "&" if "?" in address else "?"
        return RedirectResponse(f"/dashboard{address}{mark}{urlencode({'notice': key})}", 303, headers=_HEADERS)

    def _login(self, request: Request) -> Login | None:
        try:
            return self._book.login_of(request.cookies.get(self._book.cookie_name, ""))
        except CodePlaneError:
            # Without a token there is no key that could prove a login.
            return None

    def _caller(self, login: Login) -> Caller:
        # The proof is what the record shows of the person who answered.
        proof = f"dashboard login {login.name[:8]}"
        return Caller(CallerKind.PERSON, DASHBOARD, f"dashboard:{login.name}", "dashboard", proof=proof)

    def _context(self, login: Login) -> PageContext:
        async def status() -> dict[str, Any]:
            return await anyio.to_thread.run_sync(self._host.status)

        async def health() -> dict[str, Any]:
            return await anyio.to_thread.run_sync(self._host.health)

        run = self._host.runner_for_people.run
        return PageContext(run, self._caller(login), self._host.workspace.clock.now_ms(), status, health)

    async def _checked_form(self, request: Request, login: Login) -> dict[str, str]:
        """Return the fields of a form that a page of this login has sent.

        Raises:
            CodePlaneError: OPERATOR_TOKEN_REQUIRED for one that comes from elsewhere, PAYLOAD_TOO_LARGE.
        """
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MAX_FORM:
                raise CodePlaneError("PAYLOAD_TOO_LARGE", f"A form may have at most {_MAX_FORM} bytes.")
        form = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
        site = request.headers.get("sec-fetch-site", "same-origin")
        # The guard has checked Origin already.
        if site != "same-origin" or not is_same_secret(form.pop("form_token", ""), login.form_token):
            message = "This form is not from a page of your login, or the login is another one now."
            raise CodePlaneError("OPERATOR_TOKEN_REQUIRED", message, hint="Reload the page and send it again.")
        return form

    async def _page(
        self, view: View, login: Login, request: Request, data: dict[str, Any], *, status: int = 200
    ) -> Response:
        query: Query = request.query_params
        notice = self._book.take_notice(login, query.get("notice", ""))
        known = {key: value for key, value in query.items() if key not in {"notice", "fragment"}}
        shared = {
            "view": view,
            "views": VIEWS,
            "rest_addresses": _rest_addresses(view, {**query, **request.path_params}),
            "repository": self._host.workspace.root.name,
            "form_token": login.form_token,
            "notice": notice,
            "now_ms": self._host.workspace.clock.now_ms(),
            "query": known,
            "here": f"{quote(request.url.path)}{'?' if known else ''}{urlencode(known)}",
            "link_to": partial(_link_to, request.url.path, known),
        }
        draw = partial(
            page, self._environment, view.name, {**shared, **data}, "" if view is _ERROR else query.get("fragment", "")
        )
        content = await anyio.to_thread.run_sync(draw)
        return Response(content, status, _HEADERS, "text/html; charset=utf-8")

    async def _login_page(self, request: Request, problem: str = "") -> Response:
        if "application/json" in request.headers.get("accept", ""):
            return _told_error(401, ErrorReport("OPERATOR_TOKEN_REQUIRED", "This needs a login: `cpl dashboard`."))
        draw = partial(page, self._environment, "login", {"problem": problem})
        content = await anyio.to_thread.run_sync(draw)
        return Response(content, 401, _HEADERS, "text/html; charset=utf-8")


def _told_error(status: int, report: ErrorReport) -> Response:
    """Return an error object that no browser keeps."""
    answer = error_response(status, report)
    answer.headers.update(_HEADERS)
    return answer


async def _no_data(_context: PageContext, _query: Query) -> dict[str, Any]:
    return {}


_ERROR = View(name="error", title="Problem", path="/error", show=_no_data, belongs_to="none")


def _rest_addresses(view: View, parts: Query) -> list[str]:
    """Return the addresses with the data of a page; one that needs what the page was not asked for is left out."""
    return [address for one in view.rest if "{" not in (address := _filled(one, parts))]


def _filled(address: str, parts: Query) -> str:
    for name, value in parts.items():
        address = address.replace(f"{{{name}}}", quote(value, safe=""))
    return address


def _link_to(path: str, known: Query, **changed: str | int | None) -> str:
    """Return the address of this page with some of its questions changed; None leaves one out."""
    wanted = {**known, **{name: str(value) for name, value in changed.items() if value is not None}}
    kept = {name: value for name, value in wanted.items() if value and changed.get(name, "") is not None}
    return f"{quote(path)}{'?' if kept else ''}{urlencode(kept)}"
