"""A tiny OpenID Connect provider on this machine: those who ask are signed in as the addresses it was given."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "crowdcore-app", "a-client-secret-that-nobody-should-see"


@contextmanager
def provider(*emails: str) -> Iterator[str]:
    """The provider's address; it serves discovery, keys, the authorisation redirect and the token."""
    key = RSAKey.generate_key(2048, {"kid": "test", "use": "sig", "alg": "RS256"})
    nonces: dict[str, str] = {}
    coming = iter(emails)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def answer(self, content: object) -> None:
            body = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            if url.path == "/.well-known/openid-configuration":
                self.answer(
                    {
                        "issuer": address,
                        "authorization_endpoint": f"{address}/authorize",
                        "token_endpoint": f"{address}/token",
                        "jwks_uri": f"{address}/keys",
                        "id_token_signing_alg_values_supported": ["RS256"],
                    }
                )
            elif url.path == "/keys":
                self.answer({"keys": [key.as_dict(private=False)]})
            else:
                by_name = {k: v[0] for k, v in parse_qs(url.query).items()}
                nonces["code"] = by_name.get("nonce", "")
                back = urlencode({"code": "code", "state": by_name["state"]})
                self.send_response(302)
                self.send_header("Location", f"{by_name['redirect_uri']}?{back}")
                self.end_headers()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            now, email = int(time.time()), next(coming)
            claims = {"iss": address, "sub": email, "aud": CLIENT, "email": email, "email_verified": True}
            claims |= {"iat": now, "exp": now + 600, "nonce": nonces["code"]}
            token = jwt.encode({"alg": "RS256", "kid": "test"}, claims, key)
            self.answer({"access_token": "access", "token_type": "Bearer", "expires_in": 600, "id_token": token})

    server = ThreadingHTTPServer(("localhost", 0), Handler)
    address = f"http://localhost:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield address
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
