//! The page of `farfel build --timings`.

use farfel_driver::graph::text::shown;
use farfel_driver::timings::{PassTime, StepOrigin, StepTime, Timings};
use minijinja::context;
use serde::Serialize;

use crate::error::Result;
use crate::pages;

/// A build for the page.
pub struct BuildRecord {
    /// The package, or the files.
    pub name: String,
    /// The records of the build.
    pub timings: Timings,
    /// Whether the records are from an earlier build, because there was nothing to do.
    pub fresh: bool,
}

/// Returns a self-contained page about a build.
///
/// # Errors
///
/// None that depend on the build.
pub fn page(title: &str, built: &[BuildRecord]) -> Result<String> {
    let sections: Vec<Section> = built.iter().map(Section::of).collect();
    let values = context! {
        name => shown(title),
        several => built.len() > 1,
        sections => minijinja::Value::from(minijinja::value::Serde(&sections)),
    };
    let title = format!("Timings of {}", shown(title));
    pages::page(&title, include_str!("page.html"), values)
}

/// The kinds of steps, in the order of the plan.
const KINDS: [&str; 7] = [
    "parse", "lower", "request", "generate", "compile", "archive", "bind",
];

/// The width of the chart, and the position at which its time axis begins.
const WIDTH: f64 = 1200.0;
const LEFT: f64 = 76.0;
const TOP: f64 = 24.0;
const LANE: f64 = 26.0;

#[derive(Serialize)]
struct Section {
    name: String,
    fresh: bool,
    total: String,
    jobs: usize,
    steps: usize,
    ran: usize,
    kept: usize,
    cache: usize,
    remote: usize,
    there: usize,
    saved: String,
    parallelism: String,
    busy: String,
    kinds: Vec<Kind>,
    chart: Chart,
    headings: Vec<Heading>,
    rows: Vec<Row>,
    passes: Vec<Pass>,
}

#[derive(Serialize)]
struct Pass {
    name: String,
    runs: u64,
    time: String,
    percent: f64,
}

#[derive(Serialize)]
struct Kind {
    name: String,
    class: &'static str,
    steps: usize,
    ran: usize,
    time: String,
    percent: f64,
}

#[derive(Serialize)]
struct Chart {
    width: f64,
    height: f64,
    ticks: Vec<Tick>,
    lanes: Vec<Lane>,
    bars: Vec<Bar>,
}

#[derive(Serialize)]
struct Tick {
    x: f64,
    label: String,
}

#[derive(Serialize)]
struct Lane {
    y: f64,
    label: String,
}

#[derive(Serialize)]
struct Bar {
    x: f64,
    y: f64,
    width: f64,
    class: String,
    title: String,
    label: String,
}

#[derive(Serialize)]
struct Heading {
    name: &'static str,
    number: bool,
    sorted: bool,
}

#[derive(Serialize)]
struct Row {
    name: String,
    kind: String,
    from: &'static str,
    start_ms: f64,
    start: String,
    took_ms: f64,
    took: String,
    saved_ms: f64,
    saved: String,
    worker: usize,
    reason: String,
}

impl Section {
    fn of(built: &BuildRecord) -> Section {
        let timings = &built.timings;
        let count = |from| timings.count(from);
        let knows_savings = timings.steps.iter().any(|s| s.saved_ms.is_some());
        let mut by_time: Vec<&StepTime> = timings.steps.iter().collect();
        by_time.sort_by(|a, b| b.duration_ms().total_cmp(&a.duration_ms()));
        Section {
            name: shown(&built.name),
            fresh: built.fresh,
            total: time(timings.total_ms),
            jobs: timings.jobs,
            steps: timings.steps.len(),
            ran: count(StepOrigin::Ran),
            kept: timings.steps.len() - count(StepOrigin::Ran),
            cache: count(StepOrigin::Cache),
            remote: count(StepOrigin::Remote),
            there: count(StepOrigin::Fresh),
            saved: match knows_savings {
                true => time(timings.saved_ms()),
                false => "–".into(),
            },
            parallelism: format!("{:.0} %", 100.0 * timings.parallelism()),
            busy: time(timings.busy_ms()),
            kinds: kinds(timings),
            chart: chart(timings),
            headings: headings(),
            rows: by_time.into_iter().map(row).collect(),
            passes: passes(timings),
        }
    }
}

fn headings() -> Vec<Heading> {
    let named = |name, number| Heading {
        name,
        number,
        sorted: name == "took",
    };
    vec![
        named("step", false),
        named("kind", false),
        named("result", false),
        named("start", true),
        named("took", true),
        named("saved", true),
        named("worker", true),
        named("why it ran", false),
    ]
}

fn kinds(timings: &Timings) -> Vec<Kind> {
    let all = timings.busy_ms().max(f64::MIN_POSITIVE);
    let mut names: Vec<&str> = KINDS.to_vec();
    for step in &timings.steps {
        if !names.contains(&step.kind.as_str()) {
            names.push(&step.kind);
        }
    }
    let of_kind = |name: &str| {
        let steps: Vec<&StepTime> = timings.steps.iter().filter(|s| s.kind == name).collect();
        let busy: f64 = steps.iter().map(|s| s.duration_ms()).sum();
        (!steps.is_empty()).then(|| Kind {
            name: shown(name),
            class: class(name),
            steps: steps.len(),
            ran: steps.iter().filter(|s| s.from == StepOrigin::Ran).count(),
            time: time(busy),
            percent: rounded(100.0 * busy / all),
        })
    };
    names.into_iter().filter_map(of_kind).collect()
}

fn passes(timings: &Timings) -> Vec<Pass> {
    let all: f64 = timings.passes.iter().map(|p| p.total_ms).sum();
    let pass = |p: &PassTime| Pass {
        name: shown(&p.name),
        runs: p.runs,
        time: time(p.total_ms),
        percent: rounded(100.0 * p.total_ms / all.max(f64::MIN_POSITIVE)),
    };
    timings.passes.iter().map(pass).collect()
}

/// Returns the CSS class of a kind; only kinds with colours have one.
fn class(kind: &str) -> &'static str {
    KINDS
        .into_iter()
        .find(|known| *known == kind)
        .unwrap_or("other")
}

fn chart(timings: &Timings) -> Chart {
    let workers = timings.steps.iter().map(|s| s.worker).max();
    // An absurd number is an error in the file.
    let lanes = workers.map_or(0, |last| last + 1).min(1024);
    let ends = timings.steps.iter().map(|s| s.end_ms);
    let end = ends.fold(timings.total_ms, f64::max).max(0.001);
    let x = |ms: f64| LEFT + (ms / end).clamp(0.0, 1.0) * (WIDTH - LEFT - 30.0);
    let step = tick(end);
    let mut ticks = Vec::new();
    while ticks.len() as f64 * step <= end {
        let at = ticks.len() as f64 * step;
        ticks.push(Tick {
            x: rounded(x(at)),
            label: mark(at),
        });
    }
    let bars = timings.steps.iter().filter(|s| s.worker < lanes).map(|s| {
        let (from, to) = (x(s.start_ms), x(s.end_ms.max(s.start_ms)));
        let kept = match s.from {
            StepOrigin::Ran => "",
            StepOrigin::Cache | StepOrigin::Remote | StepOrigin::Fresh => " kept",
        };
        let name = shown(&s.name);
        let fits = ((to - from - 8.0) / 6.2).max(0.0) as usize;
        let label = match name.chars().count() {
            n if n <= fits => name.clone(),
            _ if fits > 5 => name.chars().take(fits - 1).collect::<String>() + "…",
            _ => String::new(),
        };
        let mut title = format!(
            "{} {name}: {}, {}",
            shown(&s.kind),
            time(s.duration_ms()),
            describe_origin(s.from)
        );
        if let Some(reason) = &s.reason {
            title += &format!(" ({})", shown(reason));
        }
        Bar {
            x: rounded(from),
            y: TOP + LANE * s.worker as f64,
            width: rounded((to - from).max(1.0)),
            class: format!("{}{kept}", class(&s.kind)),
            title,
            label,
        }
    });
    Chart {
        width: WIDTH,
        height: TOP + LANE * lanes as f64,
        ticks,
        lanes: (0..lanes)
            .map(|w| Lane {
                y: TOP + LANE * w as f64 + 14.0,
                label: format!("worker {w}"),
            })
            .collect(),
        bars: bars.collect(),
    }
}

/// Returns a round distance between marks on the axis, so that there are at most twelve.
fn tick(end: f64) -> f64 {
    let mut unit = 0.001;
    loop {
        for step in [unit, 2.0 * unit, 5.0 * unit] {
            // The file may contain anything, even an infinite value.
            if end / step <= 11.0 || !step.is_finite() {
                return step;
            }
        }
        unit *= 10.0;
    }
}

fn row(step: &StepTime) -> Row {
    let saved = step
        .saved_ms
        .map(|saved| (saved - step.duration_ms()).max(0.0));
    Row {
        name: shown(&step.name),
        kind: shown(&step.kind),
        from: describe_origin(step.from),
        start_ms: step.start_ms,
        start: time(step.start_ms),
        took_ms: step.duration_ms(),
        took: time(step.duration_ms()),
        saved_ms: saved.unwrap_or_default(),
        saved: saved.map(time).unwrap_or_default(),
        worker: step.worker,
        reason: shown(step.reason.as_deref().unwrap_or_default()),
    }
}

fn describe_origin(from: StepOrigin) -> &'static str {
    match from {
        StepOrigin::Ran => "ran",
        StepOrigin::Cache => "from the cache",
        StepOrigin::Remote => "from the remote cache",
        StepOrigin::Fresh => "from the previous build",
    }
}

/// Formats a round time without trailing zeros.
fn mark(ms: f64) -> String {
    match ms {
        _ if ms >= 60_000.0 => time(ms),
        _ if ms >= 1000.0 => format!("{} s", rounded(ms / 1000.0)),
        _ => format!("{} ms", (ms * 1000.0).round() / 1000.0),
    }
}

/// Formats a time for people.
fn time(ms: f64) -> String {
    match ms {
        _ if ms >= 60_000.0 => format!(
            "{} min {:02.0} s",
            (ms / 60_000.0).floor(),
            ms % 60_000.0 / 1000.0
        ),
        _ if ms >= 1000.0 => format!("{:.2} s", ms / 1000.0),
        _ if ms >= 10.0 => format!("{ms:.0} ms"),
        _ if ms > 0.0 => format!("{ms:.1} ms"),
        _ => "0 ms".into(),
    }
}

fn rounded(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, kind: &str, start_ms: f64, end_ms: f64, worker: usize) -> StepTime {
        StepTime {
            name: name.into(),
            kind: kind.into(),
            start_ms,
            end_ms,
            from: StepOrigin::Ran,
            worker,
            reason: None,
            saved_ms: None,
        }
    }

    fn built(steps: Vec<StepTime>, total_ms: f64) -> BuildRecord {
        BuildRecord {
            name: "demo".into(),
            timings: Timings {
                steps,
                jobs: 2,
                total_ms,
                passes: Vec::new(),
            },
            fresh: false,
        }
    }

    /// Values inserted into the page are text, whatever they contain.
    #[test]
    fn hostile_names_stay_text() {
        let hostile = "</script><script>alert('1')</script>\"&\u{1b}{{ 7*7 }}";
        let step = StepTime {
            reason: Some(hostile.into()),
            ..step(hostile, hostile, 0.0, 5.0, 0)
        };
        let mut section = built(vec![step], 5.0);
        section.name = hostile.into();
        let again = built(Vec::new(), 0.0);
        let page = page(hostile, &[section, again]).unwrap();
        assert_eq!(page.matches("<script>").count(), 1);
        assert_eq!(page.matches("</script>").count(), 1);
        assert!(!page.contains('\u{1b}'));
        assert!(page.contains("{{ 7*7 }}"), "it is no template");
        assert!(page.contains("No steps were needed."));
    }

    #[test]
    fn the_figures_are_those_of_the_build() {
        let steps = vec![
            step("sources", "parse", 0.0, 20.0, 0),
            step("farfel.f", "compile", 20.0, 1020.0, 0),
            StepTime {
                from: StepOrigin::Remote,
                saved_ms: Some(750.0),
                ..step("other.f", "compile", 20.0, 50.0, 1)
            },
        ];
        let pass = |name: &str, runs, total_ms| PassTime {
            name: name.into(),
            runs,
            total_ms,
        };
        let mut built = built(steps, 1050.0);
        built.timings.passes = vec![pass("lift", 1, 9.0), pass("signs<", 4, 3.0)];
        let page = page("demo", &[built]).unwrap();
        for text in [
            "<b>1.05 s</b><span>total, with 2 jobs",
            "<b>3</b><span>steps, 2 of them run",
            "<b>1</b><span>steps reused: 0 from the cache, 1 from the remote cache, 0 from",
            "<b>720 ms</b><span>saved by reuse",
            "<b>50 %</b><span>parallelism: 1.05 s of work in 2 × 1.05 s",
            "compile farfel.f: 1.00 s, ran",
            "<td>lift</td><td class=\"n\">1</td><td class=\"n\">9.0 ms</td><td><div class=\"meter\" style=\"width:75",
            "<td>signs&lt;</td><td class=\"n\">4</td><td class=\"n\">3.0 ms</td><td><div class=\"meter\" style=\"width:25",
        ] {
            assert!(page.contains(text), "{text}\n{page}");
        }
        assert!(!page.contains("Nothing has changed"));
    }

    /// The page, without its head and script, is XML, so that a parser can verify that it is well-formed;
    /// nothing in it is fetched from elsewhere.
    #[test]
    fn the_page_is_whole_and_fetches_nothing() {
        let steps = (0..50).map(|i| step("a&b<c>", "compile", f64::from(i), f64::from(i + 1), 0));
        let mut built = built(steps.collect(), 50.0);
        built.fresh = true;
        let page = page("demo", &[built]).unwrap();
        assert!(page.contains("Nothing has changed"));
        for fetched in ["http:", "https:", "src=", "url(", "@import", "<link"] {
            assert!(!page.contains(fetched), "{fetched}");
        }
        let body = &page[page.find("<section>").unwrap()..page.find("<footer>").unwrap()];
        let (before, rest) = body.split_once("<input").unwrap();
        let (_, after) = rest.split_once('>').unwrap();
        let text = format!("{before}{after}");
        let document = roxmltree::Document::parse(&text).unwrap();
        let bars = document
            .descendants()
            .filter(|n| n.has_tag_name("rect"))
            .count();
        assert_eq!(bars, 50);
    }

    #[test]
    fn times_as_people_read_them() {
        let read: Vec<String> = [0.0, 0.25, 9.94, 12.6, 1234.0, 125_000.0]
            .map(time)
            .to_vec();
        assert_eq!(
            read,
            ["0 ms", "0.2 ms", "9.9 ms", "13 ms", "1.23 s", "2 min 05 s"]
        );
    }

    #[test]
    fn figures_without_reason_do_no_harm() {
        let steps = vec![
            step("a", "b", -5.0, -9.0, usize::MAX - 1),
            step("c", "d", 1e300, 1e308, 3),
        ];
        let page = page("demo", &[built(steps, -1.0)]).unwrap();
        assert!(page.len() < 1_000_000);
    }

    #[test]
    fn marks_have_no_needless_digits() {
        assert_eq!(
            [0.0, 0.2, 500.0, 2000.0, 2500.0].map(mark),
            ["0 ms", "0.2 ms", "500 ms", "2 s", "2.5 s"]
        );
    }

    #[test]
    fn marks_are_round_and_few() {
        assert_eq!(tick(10.0), 1.0);
        assert_eq!(tick(1234.0), 200.0);
        assert!(tick(f64::INFINITY) > 0.0);
    }
}
