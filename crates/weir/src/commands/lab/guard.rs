//! Who may ask: only pages that this server has sent, under an address of this machine.
//!
//! A page of another origin can send requests to a server on loopback. Its browser names that page
//! in `Origin` and `Sec-Fetch-Site` (Fetch §3.2, Fetch Metadata). A name that resolves to this
//! machine (DNS rebinding) makes such a page one of the same origin, but the name remains in `Host`
//! (RFC 9112 §3.2), so that only addresses and `localhost` are accepted there.

use hyper::header::{AsHeaderName, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, ORIGIN};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{Method, StatusCode, Uri};
use std::net::{IpAddr, SocketAddr};

/// The header with the token of the server, which pages get from `/api/hello`.
pub const TOKEN: &str = "x-weir-token";

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub StatusCode, pub &'static str);

const FOREIGN_HOST: Refusal = Refusal(
    StatusCode::FORBIDDEN,
    "the name of the host is not this server's: use the address that weir lab has printed",
);
const FOREIGN_ORIGIN: Refusal = Refusal(
    StatusCode::FORBIDDEN,
    "the request comes from a page of another origin",
);
const NO_TOKEN: Refusal = Refusal(
    StatusCode::FORBIDDEN,
    "the token is not this server's: load the page again",
);
const METHOD: Refusal = Refusal(
    StatusCode::METHOD_NOT_ALLOWED,
    "expected GET, HEAD or POST, and POST only where something is started or ended",
);
const CONTENT: Refusal = Refusal(
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    "expected content of the type application/json",
);

/// The address at which the server listens, and the token of its pages.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The address.
    pub address: SocketAddr,
    /// The token.
    pub token: String,
}

impl Guard {
    /// Refuses a request that may not be answered.
    ///
    /// # Errors
    /// The status and the reason.
    pub fn check(&self, request: &Parts) -> Result<(), Refusal> {
        self.check_host(&request.uri, &request.headers)?;
        let is_api = request.uri.path().starts_with("/api/");
        Self::check_origin(&request.headers, is_api)?;
        match request.method {
            Method::GET | Method::HEAD => Ok(()),
            Method::POST if is_api => self.check_post(&request.headers),
            _ => Err(METHOD),
        }
    }

    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = only(headers, HOST).ok_or(FOREIGN_HOST)?;
        let host: Authority = host.parse().map_err(|_| FOREIGN_HOST)?;
        // A request to a proxy names the host in its target too.
        for authority in [Some(&host), uri.authority()].into_iter().flatten() {
            if !self.is_own(authority) {
                return Err(FOREIGN_HOST);
            }
        }
        Ok(())
    }

    /// True for an address under which this server is reached, with its port.
    fn is_own(&self, authority: &Authority) -> bool {
        if authority.as_str().contains('@')
            || authority.port_u16().unwrap_or(80) != self.address.port()
        {
            return false;
        }
        let own = self.address.ip();
        let name = authority.host();
        let bare = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'));
        match bare.unwrap_or(name).parse::<IpAddr>() {
            Ok(address) if own.is_unspecified() => !address.is_unspecified(),
            Ok(address) if own.is_loopback() => address.is_loopback(),
            Ok(address) => address == own,
            Err(_) => {
                let reaches = own.is_loopback() || own.is_unspecified();
                reaches && name.eq_ignore_ascii_case("localhost")
            }
        }
    }

    /// Anybody may link to a page; only the page itself may ask for data.
    fn check_origin(headers: &HeaderMap, is_api: bool) -> Result<(), Refusal> {
        if headers.contains_key(ORIGIN) {
            let origin = only(headers, ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
            if origin.is_none() || origin != only(headers, HOST) {
                return Err(FOREIGN_ORIGIN);
            }
        }
        let site = headers.get("sec-fetch-site");
        match site.map(HeaderValue::as_bytes) {
            None | Some(b"same-origin" | b"none") => Ok(()),
            Some(_) if is_api => Err(FOREIGN_ORIGIN),
            Some(_) => Ok(()),
        }
    }

    fn check_post(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let token = only(headers, TOKEN).unwrap_or_default();
        if !is_equal(token.as_bytes(), self.token.as_bytes()) {
            return Err(NO_TOKEN);
        }
        let content = only(headers, CONTENT_TYPE).unwrap_or_default();
        let kind = content.split(';').next().unwrap_or_default().trim();
        if kind.eq_ignore_ascii_case("application/json") {
            Ok(())
        } else {
            Err(CONTENT)
        }
    }
}

/// The value of a header that the request has exactly once.
fn only(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    values.next().is_none().then_some(first)?.to_str().ok()
}

/// Compares two texts in a time that depends on their lengths only.
fn is_equal(a: &[u8], b: &[u8]) -> bool {
    let differing = a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b));
    a.len() == b.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::Request;

    fn guard(address: &str) -> Guard {
        Guard {
            address: address.parse().unwrap(),
            token: "secret".to_owned(),
        }
    }

    fn checked(guard: &Guard, method: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        guard
            .check(&parts)
            .err()
            .map_or(200, |refusal| refusal.0.as_u16())
    }

    #[test]
    fn only_addresses_of_this_machine_are_hosts() {
        let table = [
            ("127.0.0.1:7000", "127.0.0.1:7000", 200),
            ("127.0.0.1:7000", "localhost:7000", 200),
            ("127.0.0.1:7000", "LocalHost:7000", 200),
            ("127.0.0.1:7000", "[::1]:7000", 200),
            ("127.0.0.1:7000", "127.0.0.1:7001", 403),
            ("127.0.0.1:7000", "127.0.0.1", 403),
            ("127.0.0.1:7000", "weir.example:7000", 403),
            ("127.0.0.1:7000", "localhost.example:7000", 403),
            ("127.0.0.1:7000", "127.0.0.1.example:7000", 403),
            ("127.0.0.1:7000", "localhost@192.0.2.1:7000", 403),
            ("127.0.0.1:7000", "192.0.2.1:7000", 403),
            ("127.0.0.1:7000", "a b", 403),
            ("127.0.0.1:80", "127.0.0.1", 200),
            ("192.0.2.1:7000", "192.0.2.1:7000", 200),
            ("192.0.2.1:7000", "127.0.0.1:7000", 403),
            ("192.0.2.1:7000", "localhost:7000", 403),
            ("0.0.0.0:7000", "192.0.2.1:7000", 200),
            ("0.0.0.0:7000", "localhost:7000", 200),
            ("0.0.0.0:7000", "weir.example:7000", 403),
        ];
        for (address, host, status) in table {
            let found = checked(&guard(address), "GET", "/", &[("host", host)]);
            assert_eq!(found, status, "{host} at {address}");
        }
        let own = guard("127.0.0.1:7000");
        assert_eq!(checked(&own, "GET", "/", &[]), 403);
        let two = [("host", "127.0.0.1:7000"), ("host", "127.0.0.1:7000")];
        assert_eq!(checked(&own, "GET", "/", &two), 403);
        let proxied = "http://weir.example:7000/";
        assert_eq!(checked(&own, "GET", proxied, &two[..1]), 403);
    }

    #[test]
    fn pages_of_other_origins_are_refused() {
        let table = [
            ("/", "origin", "http://127.0.0.1:7000", 200),
            ("/", "origin", "http://weir.example", 403),
            ("/", "origin", "https://127.0.0.1:7000", 403),
            ("/", "origin", "http://127.0.0.1:7001", 403),
            ("/", "origin", "http://localhost:7000", 403),
            ("/", "origin", "null", 403),
            // A link to the page works from anywhere, its data does not.
            ("/", "sec-fetch-site", "cross-site", 200),
            ("/api/runs", "sec-fetch-site", "cross-site", 403),
            ("/api/runs", "sec-fetch-site", "same-site", 403),
            ("/api/runs", "sec-fetch-site", "same-origin", 200),
            ("/api/runs", "sec-fetch-site", "none", 200),
        ];
        for (path, name, value, status) in table {
            let headers = [("host", "127.0.0.1:7000"), (name, value)];
            let found = checked(&guard("127.0.0.1:7000"), "GET", path, &headers);
            assert_eq!(found, status, "{path} {name}: {value}");
        }
    }

    #[test]
    fn what_changes_something_needs_the_token_and_json() {
        type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], u16);
        let own = guard("127.0.0.1:7000");
        let host = ("host", "127.0.0.1:7000");
        let (token, json) = ((TOKEN, "secret"), ("content-type", "application/json"));
        let table: [Case<'_>; 10] = [
            ("POST", "/api/jobs", &[host, token, json], 200),
            ("POST", "/api/jobs", &[host, json], 403),
            ("POST", "/api/jobs", &[host, (TOKEN, "secreT"), json], 403),
            ("POST", "/api/jobs", &[host, (TOKEN, "secret2"), json], 403),
            ("POST", "/api/jobs", &[host, token, token, json], 403),
            ("POST", "/api/jobs", &[host, token], 415),
            (
                "POST",
                "/api/jobs",
                &[host, token, ("content-type", "text/plain")],
                415,
            ),
            ("POST", "/", &[host, token, json], 405),
            ("OPTIONS", "/api/jobs", &[host], 405),
            ("PUT", "/api/jobs", &[host, token, json], 405),
        ];
        for (method, path, headers, status) in table {
            assert_eq!(
                checked(&own, method, path, headers),
                status,
                "{method} {path}"
            );
        }
    }
}
