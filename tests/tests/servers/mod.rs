//! Local servers for the tests of the shared cache.

// Tests report on standard error that they were skipped.
#![allow(clippy::print_stderr)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Returns a port on which nothing listens.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A real Redis server, which is stopped when this value is dropped.
pub struct Redis {
    pub port: u16,
    child: Child,
    _dir: TempDir,
}

impl Redis {
    /// Returns `None`, with a message, if there is no redis-server.
    pub fn start(password: Option<&str>) -> Option<Redis> {
        // Another process may take the port in between.
        (0..5).find_map(|_| Redis::try_start(password)).or_else(|| {
            // In CI it must exist, so that its absence does not go unnoticed.
            assert!(
                std::env::var_os("FARFEL_TEST_REDIS").is_none(),
                "no redis-server"
            );
            eprintln!("skipped: there is no redis-server here (Debian's package redis-server)");
            None
        })
    }

    fn try_start(password: Option<&str>) -> Option<Redis> {
        let dir = tempfile::tempdir().unwrap();
        let port = free_port();
        let mut command = Command::new("redis-server");
        command
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no", "--dir"])
            .arg(dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(password) = password {
            command.args(["--requirepass", password]);
        }
        let child = command.spawn().ok()?;
        let mut server = Redis {
            port,
            child,
            _dir: dir,
        };
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(20) {
            if matches!(server.child.try_wait(), Ok(Some(_))) {
                return None;
            }
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Some(server);
            }
            thread::sleep(Duration::from_millis(20));
        }
        None
    }

    pub fn address(&self, path: &str) -> String {
        format!("redis://127.0.0.1:{}{path}", self.port)
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The behaviour of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// WebDAV, as far as needed: PUT requires its folder to exist.
    WebDav,
    /// WebDAV, for `user` with the password `s@cret`.
    Password,
    /// Only GET and PUT.
    GetAndPut,
    /// Reads and never answers.
    Hang,
    /// Answers a byte at a time, for ever.
    Drip,
    /// Answers everything with a page.
    Garbage,
    /// Answers with something that is not HTTP.
    Noise,
    /// Answers with an internal error.
    Fault,
    /// Announces more than it sends.
    Die,
}

/// A small web server. Its threads live as long as the process.
pub struct Web {
    port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    asked: Mutex<Vec<String>>,
}

struct Request {
    method: String,
    path: String,
    authorization: Option<String>,
    body: Vec<u8>,
}

impl Web {
    pub fn start(behaviour: Behaviour) -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(stream, behaviour, &state));
            }
        });
        Web { port, state }
    }

    pub fn address(&self, scheme: &str, path: &str) -> String {
        format!("{scheme}://127.0.0.1:{}{path}", self.port)
    }

    /// Returns the methods and paths of all requests so far.
    pub fn asked(&self) -> Vec<String> {
        self.state.asked.lock().unwrap().clone()
    }
}

/// Answers the requests on a connection, as long as possible.
fn serve(mut stream: TcpStream, behaviour: Behaviour, state: &State) -> Option<()> {
    let mut input = BufReader::new(stream.try_clone().ok()?);
    match behaviour {
        Behaviour::Hang => {
            // Reads everything.
            let _ = std::io::copy(&mut input, &mut std::io::sink());
            return None;
        }
        Behaviour::Noise => {
            let _ = input.read(&mut [0; 16]);
            let _ = stream.write_all(b"\x07\x00noise\r\n\r\n\xff");
            return None;
        }
        _ => {}
    }
    loop {
        let request = read(&mut input)?;
        let line = format!("{} {}", request.method, request.path);
        state.asked.lock().unwrap().push(line);
        let (status, body) = match behaviour {
            Behaviour::Drip => {
                let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n";
                stream.write_all(head).ok()?;
                loop {
                    stream.write_all(b"f").ok()?;
                    thread::sleep(Duration::from_millis(20));
                }
            }
            Behaviour::Die => {
                let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nfarfel\0\x01";
                let _ = stream.write_all(head);
                return None;
            }
            Behaviour::Garbage => ("200 OK", b"<html>Please log in".to_vec()),
            Behaviour::Fault => ("503 Service Unavailable", Vec::new()),
            // The Base64 of the user's name and password.
            Behaviour::Password
                if request.authorization.as_deref() != Some("Basic dXNlcjpzQGNyZXQ=") =>
            {
                ("401 Unauthorized", Vec::new())
            }
            _ => answer(&request, behaviour, &mut state.files.lock().unwrap()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(&body).ok()?;
    }
}

/// Files are stored under their paths, folders with a slash at the end.
fn answer(
    request: &Request,
    behaviour: Behaviour,
    files: &mut BTreeMap<String, Vec<u8>>,
) -> (&'static str, Vec<u8>) {
    let path = &request.path;
    let folders = behaviour != Behaviour::GetAndPut;
    let parent = |path: &str| {
        let path = path.trim_end_matches('/');
        path[..=path.rfind('/').unwrap_or(0)].to_owned()
    };
    let exists = |files: &BTreeMap<_, _>, path: &str| path == "/" || files.contains_key(path);
    match &*request.method {
        "GET" => match files.get(path) {
            Some(bytes) => ("200 OK", bytes.clone()),
            None => ("404 Not Found", Vec::new()),
        },
        "PUT" if folders && !exists(files, &parent(path)) => ("409 Conflict", Vec::new()),
        "PUT" => {
            files.insert(path.clone(), request.body.clone());
            ("201 Created", Vec::new())
        }
        "MKCOL" if folders && !exists(files, &parent(path)) => ("409 Conflict", Vec::new()),
        "MKCOL" if folders => {
            files.insert(format!("{}/", path.trim_end_matches('/')), Vec::new());
            ("201 Created", Vec::new())
        }
        "PROPFIND" if folders && exists(files, path) => (
            "207 Multi-Status",
            format!(
                "<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\"><D:response>\
                <D:href>{path}</D:href><D:propstat><D:prop><D:resourcetype>{}</D:resourcetype>\
                <D:getlastmodified>Sat, 21 Nov 2026 09:00:00 GMT</D:getlastmodified>\
                </D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>\
                </D:multistatus>",
                if path.ends_with('/') {
                    "<D:collection/>"
                } else {
                    ""
                }
            )
            .into_bytes(),
        ),
        "PROPFIND" if folders => ("404 Not Found", Vec::new()),
        _ => ("405 Method Not Allowed", Vec::new()),
    }
}

fn read(input: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    input.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let mut request = Request {
        method: words.next()?.to_owned(),
        path: words.next()?.to_owned(),
        authorization: None,
        body: Vec::new(),
    };
    let mut length = 0;
    loop {
        let mut header = String::new();
        input.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else {
            break;
        };
        match &*name.to_ascii_lowercase() {
            "content-length" => length = value.trim().parse().ok()?,
            "authorization" => request.authorization = Some(value.trim().to_owned()),
            _ => {}
        }
    }
    request.body = vec![0; length];
    input.read_exact(&mut request.body).ok()?;
    Some(request)
}
