"""A vendor with logins on 127.0.0.1: a scripted model, and the endpoint at which a CLI renews its
login with a refresh token that is spent once.

The CLIs know that endpoint by its public name. They reach it through a proxy with an authority of
its own (`env`), which plays every host.
"""

import base64
import json
import re
import ssl
import subprocess
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from tests.scripted_model import Say, ScriptedModel, Step

#: Where the two CLIs renew their logins.
HOSTS = ("platform.claude.com", "console.anthropic.com", "api.anthropic.com", "auth.openai.com")
#: Stands once in a request for each call of a tool that is done.
_DONE = {"claude": '"tool_result"', "codex": '"function_call_output"'}
ACCOUNT = "00000000-0000-4000-8000-000000000001"


@dataclass(frozen=True, kw_only=True)
class Renewal:
    """One call at the endpoint: the refresh token that came, and the status of the answer."""

    token: str
    status: int


class LoginVendor(ScriptedModel):
    """Use as a context. Access tokens before number `least` are refused, whatever their end."""

    def __init__(self, cli: str, folder: Path, *script: Step, lasts: float = 3600.0) -> None:
        self.cli, self.folder, self.lasts = cli, folder, lasts
        self.renewals: list[Renewal] = []
        self.revoked = self.asked_to_renew = False
        self.least = 1
        #: Held by a test that lets a renewal's answer wait.
        self.gate = threading.Lock()
        self._number = 1
        self._context, self._authority = _authority(folder)
        super().__init__(*script)

    @property
    def env(self) -> dict[str, str]:
        """What leads a CLI here."""
        authority = str(self._authority)
        return {
            "HTTPS_PROXY": self.url, "NO_PROXY": "127.0.0.1",
            "NODE_EXTRA_CA_CERTS": authority, "SSL_CERT_FILE": authority,
        }  # fmt: skip

    def access(self, number: int | None = None, ends: float | None = None) -> str:
        """An access token; codex reads in its own when it ends."""
        number = self._number if number is None else number
        if self.cli == "claude":
            return f"sk-ant-oat01-access-{number}"
        return _jwt({"exp": int(ends or time.time() + self.lasts), "jti": f"access-{number}"})

    def login(self, ends: float) -> dict[str, Any]:
        """The content of a login file as a person has it after logging in."""
        if self.cli == "claude":
            tokens = {
                "accessToken": self.access(), "refreshToken": f"refresh-{self._number}",
                "expiresAt": int(ends * 1000), "scopes": ["user:inference", "user:profile"],
                "subscriptionType": "max",
            }  # fmt: skip
            return {"claudeAiOauth": tokens}
        tokens = {
            "id_token": _jwt({"email": "x@example.org", "exp": int(ends)}),
            "access_token": self.access(ends=ends), "refresh_token": f"refresh-{self._number}",
            "account_id": ACCOUNT,
        }  # fmt: skip
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        return {
            "auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": stamp,
        }  # fmt: skip

    def renew(self, token: str) -> tuple[int, dict[str, Any]]:
        """Spend a refresh token."""
        self.asked_to_renew = True
        with self.gate:
            good = token == f"refresh-{self._number}" and not self.revoked
            self.renewals.append(Renewal(token=token, status=200 if good else 400))
            if not good:
                return 400, {"error": "invalid_grant", "error_description": "it was spent"}
            self._number += 1
        answer = {
            "access_token": self.access(), "refresh_token": f"refresh-{self._number}",
            "token_type": "Bearer", "expires_in": int(self.lasts),
            "scope": "user:inference user:profile",
        }  # fmt: skip
        if self.cli == "codex":
            answer["id_token"] = _jwt({"email": "x@example.org", "exp": time.time() + self.lasts})
        return 200, answer

    def take(self, body: dict[str, Any], login: str = "") -> Step:
        """The step of this session: each goes through the script by itself."""
        done = json.dumps(body).count(_DONE[self.cli])
        with self._lock:
            self.requests.append(body)
            self.logins.append(login)
            self._lock.notify_all()
        step = self.script[min(done, len(self.script) - 1)] if body.get("tools") else Say()
        return step if isinstance(step, Step) else step()

    def is_good(self, login: str) -> bool:
        """Whether a request's access token is taken."""
        found = re.search(r"access-(\d+)", login if self.cli == "claude" else str(_claims(login)))
        return found is not None and int(found[1]) >= self.least

    def handler(self) -> type[BaseHTTPRequestHandler]:
        vendor, plain = self, super().handler()

        class Handler(plain):  # pyright: ignore[reportUntypedBaseClass]
            def finish(self) -> None:
                super().finish()
                self.connection.close()

            def do_CONNECT(self) -> None:  # noqa: N802 - a name of the library
                self.send_response(200)
                self.end_headers()
                self.wfile.flush()
                try:
                    secure = vendor._context.wrap_socket(self.connection, server_side=True)
                except OSError:
                    self.close_connection = True
                    return
                self.connection = secure
                self.rfile, self.wfile = secure.makefile("rb"), secure.makefile("wb", 0)
                self.close_connection = False

            def do_GET(self) -> None:  # noqa: N802 - a name of the library
                login = (self.headers.get("authorization") or "").removeprefix("Bearer ")
                if login and not vendor.is_good(login):
                    self.reply(401, _refusal(vendor.cli))
                else:
                    super().do_GET()

            def do_POST(self) -> None:  # noqa: N802 - a name of the library
                if "/oauth/token" not in self.path:
                    login = (self.headers.get("authorization") or "").removeprefix("Bearer ")
                    if "/count_tokens" in self.path or vendor.is_good(login):
                        super().do_POST()
                    else:
                        self.body()
                        self.reply(401, _refusal(vendor.cli))
                    return
                raw = self.body().decode()
                sent = json.loads(raw) if raw.startswith("{") else {
                    name: values[0] for name, values in parse_qs(raw, True).items()
                }  # fmt: skip
                self.reply(*vendor.renew(str(sent.get("refresh_token", ""))))

        return Handler


def _refusal(cli: str) -> dict[str, Any]:
    if cli == "claude":
        what = {"type": "authentication_error", "message": "OAuth token has expired."}
        return {"type": "error", "error": what}
    return {
        "error": {"code": "token_expired", "message": "Provided authentication token is expired."}
    }


def _jwt(claims: dict[str, Any]) -> str:
    about = {
        "chatgpt_account_id": ACCOUNT, "chatgpt_plan_type": "plus", "chatgpt_user_id": "user-1",
        "user_id": "user-1",
    }  # fmt: skip
    parts = ({"alg": "none"}, {"https://api.openai.com/auth": about, **claims})
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
    return b".".join((*encoded, b"c2ln")).decode()


def _claims(token: str) -> dict[str, Any]:
    middle = token.split(".")[1] if token.count(".") == 2 else ""
    return json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4))) if middle else {}


def _authority(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """A certificate for all hosts, and where that of the authority lies that signed it."""
    folder.mkdir(parents=True, exist_ok=True)
    names = ",".join(f"DNS:{name}" for name in ("*.anthropic.com", "chatgpt.com", *HOSTS))
    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    for words in (
        ("req", "-x509", *new_key, "-days", "2", "-subj", "/CN=authority", "-keyout", "ca.key",
         "-addext", "keyUsage=keyCertSign", "-out", "ca.pem"),
        ("req", "-x509", *new_key, "-days", "2", "-subj", "/CN=vendor", "-keyout", "vendor.key",
         "-CA", "ca.pem", "-CAkey", "ca.key", "-addext", f"subjectAltName={names}",
         "-addext", "basicConstraints=critical,CA:FALSE", "-out", "vendor.pem"),
    ):  # fmt: skip
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "vendor.pem", folder / "vendor.key")
    return context, folder / "ca.pem"
