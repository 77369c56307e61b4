mod support;
#[path = "tapenade/mod.rs"]
mod tapenade;
use tapenade::program::read;
use tapenade::tool::real;
use farfel_ad::tapenade::Options;
#[test]
fn scratch() {
    let file = std::env::var("SCRATCH").unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let mut s = read(&text);
    let r = s.lowered();
    let t = real(Options::default()).unwrap();
    for q in &r { if let Ok(j) = farfel_ad::tapenade::job(&s.program, q, t.version, &t.options) { std::fs::write(format!("/tmp/tp/{}", j.inputs[0].0), &j.inputs[0].1).unwrap(); println!("{:?}", j.args); } }
    match s.differentiated(&real(Options::default()).unwrap(), &r) {
        Ok((f, w)) => { std::fs::write(format!("{file}.f"), f).unwrap(); println!("{w}"); }
        Err(e) => println!("{e}"),
    }
}
