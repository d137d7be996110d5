"""A receiver of OTLP/HTTP on loopback, which reads protobuf and JSON by the specification."""

import base64
import json
import ssl
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


class OtlpReceiver:
    """Keeps the spans that it takes. `status`: what it answers; anything but 200 takes nothing."""

    def __init__(self, port=0, tls=None):
        self.spans, self.requests, self.headers, self.status = [], [], [], 200
        self.changed = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _body(self):
                if self.headers.get("Transfer-Encoding") != "chunked":  # as claude does
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size + 2)[:-2]
                self.rfile.readline()
                return body

            def do_POST(self):
                body = self._body()
                with receiver.changed:
                    receiver.requests.append(self.path)
                    receiver.headers.append(self.headers)
                    if self.path == "/v1/traces" and receiver.status == 200:
                        receiver.take(body, self.headers.get("Content-Type"))
                    receiver.changed.notify_all()
                answer = ExportTraceServiceResponse().SerializeToString()
                self.send_response(receiver.status)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *words):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        if tls is not None:  # a file with a key and its certificate
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def take(self, body, kind):
        request = ExportTraceServiceRequest()
        if kind == "application/json":
            ParseDict(_with_base64_ids(json.loads(body)), request, ignore_unknown_fields=True)
        else:
            request.ParseFromString(body)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                self.spans += [Span(span, resource.resource.attributes) for span in scope.spans]

    def until(self, fact, patience=30):
        """Wait for a fact about what was taken; what the fact returned."""
        with self.changed:
            assert self.changed.wait_for(fact, patience), [span.name for span in self.spans]
            return fact()

    def named(self, name):
        return [span for span in self.spans if span.name == name]

    def close(self):
        self._server.shutdown()
        self._server.server_close()


class Span:
    def __init__(self, span, resource):
        self.name, self.start, self.end = (
            span.name,
            span.start_time_unix_nano,
            span.end_time_unix_nano,
        )
        self.trace, self.id = span.trace_id.hex(), span.span_id.hex()
        self.parent = span.parent_span_id.hex()
        self.error = span.status.code == span.status.STATUS_CODE_ERROR
        self.attributes = _values(span.attributes)
        self.resource = _values(resource)


def _values(attributes):
    return {
        each.key: getattr(each.value, each.value.WhichOneof("value") or "string_value")
        for each in attributes
    }


def _with_base64_ids(value):
    """OTLP writes ids in hexadecimal digits where JSON of protobuf has base64."""
    if isinstance(value, dict):
        return {
            key: base64.b64encode(bytes.fromhex(each)).decode()
            if key in ("traceId", "spanId", "parentSpanId")
            else _with_base64_ids(each)
            for key, each in value.items()
        }
    return [_with_base64_ids(each) for each in value] if isinstance(value, list) else value


def make_certificate(path):
    """A key with a certificate for 127.0.0.1 that vouches for itself, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a receiver")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    path.write_bytes(key.private_bytes(pem, *plain) + made.public_bytes(pem))
    return path
