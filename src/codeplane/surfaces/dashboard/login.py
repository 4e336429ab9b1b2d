"""Who may look: links that work once, and cookies that are signed.

A link is made for a person who has shown the operator token; its code lives in the memory of the server. The cookie it
leads to is signed with a key made from that token and from the working tree, so that a new token ends every login, a
restarted server knows its visitors again, and a login at one server opens no other.
"""

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from codeplane.core.clock import Clock
from codeplane.core.hashing import sha256_text
from codeplane.surfaces.server.operator_token import is_same_secret

LINK_SECONDS = 120
LOGIN_SECONDS = 12 * 3600
_MAX_LINKS = 20
_MAX_NOTICES = 200
_MAX_ENDED = 1_000
_MAX_COOKIE = 200


@dataclass(frozen=True, slots=True)
class Login:
    """One browser of a person; `form_token` has to be in every form that acts."""

    name: str
    form_token: str


@dataclass(frozen=True, slots=True)
class Notice:
    """What a page says once about the last action."""

    text: str
    is_good: bool = True


class LoginBook:
    """Links that wait to be used, logins that were ended, and the key of the cookies.

    Invariant: a code is removed before its cookie is made; used, expired and unknown codes look the same.
    """

    def __init__(self, tree: str, token: Callable[[], str], clock: Clock) -> None:
        self._tree = sha256_text(tree)
        self._token = token
        self._clock = clock
        self._links: OrderedDict[str, float] = OrderedDict()
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._notices: OrderedDict[tuple[str, str], Notice] = OrderedDict()

    @property
    def cookie_name(self) -> str:
        """Return the cookie's name: servers of one host share cookies whatever their port, so each has its own."""
        return f"codeplane_dashboard_{self._tree[:12]}"

    def new_code(self) -> str:
        """Return the code of a link that works once."""
        code = secrets.token_urlsafe(32)
        self._links[sha256_text(code)] = self._clock.monotonic() + LINK_SECONDS
        while len(self._links) > _MAX_LINKS:
            self._links.popitem(last=False)
        return code

    def redeem(self, code: str) -> str | None:
        """Return the cookie for a code, once; None when it is not a code that waits."""
        ends = self._links.pop(sha256_text(code), None)
        if ends is None or self._clock.monotonic() > ends:
            return None
        stamp = f"{self._clock.now_ms() // 1000 + LOGIN_SECONDS}.{secrets.token_hex(8)}"
        return f"{stamp}.{self._signed('login', stamp)}"

    def login_of(self, cookie: str) -> Login | None:
        """Return the login that a cookie proves; None for one that is foreign, over, or made with an old token."""
        stamp, _, signature = cookie.rpartition(".")
        ends, _, name = stamp.partition(".")
        if len(cookie) > _MAX_COOKIE or not is_same_secret(signature, self._signed("login", stamp)):
            return None
        if int(ends) < self._clock.now_ms() // 1000 or name in self._ended:
            return None
        return Login(name, self._signed("form", stamp))

    def end(self, login: Login) -> None:
        """End a login: a copy of its cookie proves nothing as long as this server runs."""
        self._ended[login.name] = None
        while len(self._ended) > _MAX_ENDED:
            self._ended.popitem(last=False)

    def leave_notice(self, login: Login, notice: Notice) -> str:
        """Keep a notice for the next page of a login; return the key that this page is asked with."""
        key = secrets.token_hex(8)
        self._notices[login.name, key] = notice
        while len(self._notices) > _MAX_NOTICES:
            self._notices.popitem(last=False)
        return key

    def take_notice(self, login: Login, key: str) -> Notice | None:
        """Return a notice, once."""
        return self._notices.pop((login.name, key), None)

    def _signed(self, purpose: str, text: str) -> str:
        message = f"codeplane dashboard\n{self._tree}\n{purpose}\n{text}"
        return hmac.new(self._token().encode("utf-8"), message.encode("utf-8"), "sha256").hexdigest()
