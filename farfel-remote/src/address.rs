//! Addresses and the services they refer to.

use opendal_core::{HttpTransporter, OperationContext, Operator};
use opendal_http_transport_reqwest::ReqwestTransport;
use opendal_service_fs::Fs;
use opendal_service_redis::Redis;
use opendal_service_s3::S3;
use opendal_service_webdav::Webdav;
use percent_encoding::percent_decode_str;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpStream;
use url::Url;

use crate::Error;

/// The service that an address refers to.
#[derive(Clone)]
pub(crate) struct Service {
    operator: Operator,
    /// A server to probe with a TCP connection before the first use.
    probe: Option<Arc<ServerProbe>>,
}

struct ServerProbe {
    host: String,
    port: u16,
    answered: AtomicBool,
}

impl Service {
    /// Whether the client keeps retrying if access is refused, so that a refusal looks like a
    /// timeout.
    pub(crate) fn hides_refusal(&self) -> bool {
        self.probe.is_some()
    }

    /// Returns the operator if the server is reachable. Otherwise the Redis client would retry
    /// until the time limit, and a build would wait for nothing.
    pub(crate) async fn operator(self) -> Result<Operator, Error> {
        if let Some(probe) = &self.probe
            && !probe.answered.load(Ordering::Relaxed)
        {
            let connected = TcpStream::connect((&*probe.host, probe.port)).await;
            connected.map_err(|e| Error::connection(&e))?;
            probe.answered.store(true, Ordering::Relaxed);
        }
        Ok(self.operator)
    }
}

/// Returns the service that an address refers to.
pub(crate) fn service(address: &str, timeout: Duration) -> Result<Service, Error> {
    let url = Url::parse(address).map_err(|e| {
        // The message only names the problem and quotes nothing of the address.
        Error::Address(match e {
            url::ParseError::RelativeUrlWithoutBase => "it does not begin with `…://`",
            url::ParseError::InvalidPort => "the port is not a number",
            url::ParseError::EmptyHost => "there is no host",
            _ => "it is not a URL",
        })
    })?;
    let operator = match url.scheme() {
        "redis" | "rediss" => return redis(&url),
        "s3" => s3(&url, timeout),
        "webdav" => webdav(&url, "http", true, timeout),
        "webdavs" => webdav(&url, "https", true, timeout),
        "http" => webdav(&url, "http", false, timeout),
        "https" => webdav(&url, "https", false, timeout),
        "file" => file(&url),
        other => Err(Error::Scheme(other.to_owned())),
    }?;
    Ok(Service {
        operator,
        probe: None,
    })
}

fn redis(url: &Url) -> Result<Service, Error> {
    if url.scheme() == "rediss" {
        provide_tls();
    }
    let host = url.host_str().ok_or(Error::Address("there is no host"))?;
    let port = url.port().unwrap_or(6379);
    let database = match url.path().trim_matches('/') {
        "" => 0,
        number => number
            .parse()
            .map_err(|_| Error::Address("the path of a Redis address must be a number"))?,
    };
    let service = Redis::default()
        .endpoint(&format!("{}://{host}:{port}", url.scheme()))
        .username(&decoded(url.username())?)
        .password(&decoded(url.password().unwrap_or_default())?)
        .db(database);
    let probe = ServerProbe {
        host: host.trim_matches(['[', ']']).to_owned(),
        port,
        answered: AtomicBool::new(false),
    };
    Ok(Service {
        operator: Operator::new(service)?,
        probe: Some(Arc::new(probe)),
    })
}

fn s3(url: &Url, timeout: Duration) -> Result<Operator, Error> {
    let bucket = url.host_str().ok_or(Error::Address("there is no bucket"))?;
    let mut service = S3::default().bucket(bucket).root(&decoded(url.path())?);
    let mut endpoint = None;
    for (name, value) in url.query_pairs() {
        service = match &*name {
            "region" => service.region(&value),
            "endpoint" => {
                endpoint = Some(value.to_string());
                service.endpoint(&value)
            }
            _ => return Err(Error::Address("`?region=` and `?endpoint=` are known")),
        };
    }
    let plain = endpoint.is_some_and(|e| e.starts_with("http://"));
    over_http(Operator::new(service)?, !plain, timeout)
}

/// WebDAV; without folders, any server that supports GET and PUT.
fn webdav(url: &Url, scheme: &str, folders: bool, timeout: Duration) -> Result<Operator, Error> {
    let host = url.host_str().ok_or(Error::Address("there is no host"))?;
    let port = url.port().map(|p| format!(":{p}")).unwrap_or_default();
    let service = Webdav::default()
        .endpoint(&format!("{scheme}://{host}{port}"))
        .username(&decoded(url.username())?)
        .password(&decoded(url.password().unwrap_or_default())?)
        .root(&decoded(url.path())?)
        .disable_create_dir(!folders);
    over_http(Operator::new(service)?, scheme == "https", timeout)
}

fn file(url: &Url) -> Result<Operator, Error> {
    let path = url
        .to_file_path()
        .map_err(|()| Error::Address("`file:///…` names a directory of this machine"))?;
    let path = path
        .to_str()
        .ok_or(Error::Address("the directory's name is not UTF-8"))?;
    // Entries are written there first and then renamed.
    let service = Fs::default()
        .root(path)
        .atomic_write_dir(&format!("{}/farfel-tmp", path.trim_end_matches('/')));
    Ok(Operator::new(service)?)
}

fn over_http(operator: Operator, tls: bool, timeout: Duration) -> Result<Operator, Error> {
    provide_tls();
    let mut client = reqwest::Client::builder()
        .user_agent(concat!("farfel/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(timeout);
    if !tls {
        // Loading the system's certificates takes time, and there may be none.
        client = client.tls_certs_only([]);
    }
    let client = client.build().map_err(|_| Error::Tls)?;
    let transport = HttpTransporter::new(ReqwestTransport::new(client));
    Ok(operator.with_context(OperationContext::new().with_http_transport(transport)))
}

/// Installs the cryptography provider for TLS. If there is one already, it is kept.
fn provide_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

fn decoded(text: &str) -> Result<String, Error> {
    let text = percent_decode_str(text).decode_utf8();
    Ok(text.map_err(|_| Error::Address("it is not UTF-8"))?.into())
}
