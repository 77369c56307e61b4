//! Draws `docs/adbench.svg` from the table in `README.md`: the time that derivatives take in ADBench, relative
//! to those written by hand.
//!
//! `cargo run -p farfel-benches --bin adbench-plot`, after a run of `adbench/run` was added to the table.

// Telling what was written is the purpose of this program.
#![allow(clippy::print_stdout)]

use std::fmt::Write as _;
use std::path::Path;

/// The first cells of the table's header.
const HEADER: &str =
    "| data | objective | derivatives | by hand: objective | derivatives | Tapenade: objective |";

/// The limits of the axis: powers of ten.
const AXIS: (i32, i32) = (-1, 3);

/// Pixels: the left end of the axis, its width, the place of the first row, the height of a row.
const LEFT: f64 = 290.0;
const WIDTH: f64 = 430.0;
const TOP: f64 = 58.0;
const ROW: f64 = 24.0;

/// A row of the table: data, and milliseconds for derivatives.
struct Row {
    data: String,
    ours: f64,
    by_hand: f64,
    tapenade: f64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = rows(&std::fs::read_to_string(here.join("README.md"))?)?;
    let file = here.join("../docs/adbench.svg");
    std::fs::write(&file, plot(&table))?;
    println!("{} data sets: {}", table.len(), file.display());
    Ok(())
}

/// Reads the table in a text.
fn rows(text: &str) -> Result<Vec<Row>, String> {
    let mut lines = text.lines().skip_while(|l| !l.starts_with(HEADER));
    lines.next().ok_or("there is no table of ADBench")?;
    let mut found = Vec::new();
    for line in lines.skip(1).take_while(|l| l.starts_with('|')) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let number = |n: usize| -> Result<f64, String> {
            let cell = cells.get(n).ok_or(format!("a cell is missing: {line}"))?;
            cell.parse().map_err(|e| format!("{cell}: {e}"))
        };
        found.push(Row {
            data: cells.get(1).unwrap_or(&"").to_string(),
            ours: number(3)?,
            by_hand: number(5)?,
            tapenade: number(7)?,
        });
    }
    Ok(found)
}

/// The place of a ratio on the axis.
fn place(ratio: f64) -> f64 {
    let (from, to) = (f64::from(AXIS.0), f64::from(AXIS.1));
    LEFT + WIDTH * (ratio.log10() - from) / (to - from)
}

/// Returns the plot. Its colours are readable on white and on black, and adapt if the viewer tells.
fn plot(table: &[Row]) -> String {
    let bottom = TOP + ROW * table.len() as f64;
    let height = bottom + 46.0;
    let width = LEFT + WIDTH + 30.0;
    let mut t = String::new();
    let mut line = |text: String| {
        let _ = writeln!(t, "{text}");
    };
    line(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" font-family=\"sans-serif\" font-size=\"13\">"
    ));
    line(
        "<title>ADBench: the time of derivatives relative to those written by hand</title>".into(),
    );
    line(
        "<style>\n\
         .text { fill: #6e7781 } .line { stroke: #6e7781 } .grid { stroke: #8c959f; stroke-opacity: 0.35 }\n\
         .ours { fill: #1f77d0 } .other { fill: none; stroke: #d9730d; stroke-width: 2 }\n\
         @media (prefers-color-scheme: dark) {\n\
         .text { fill: #c9d1d9 } .line { stroke: #c9d1d9 } .ours { fill: #58a6ff } .other { stroke: #f0883e }\n\
         }\n\
         </style>"
            .into(),
    );
    // The key.
    line(format!(
        "<circle class=\"ours\" cx=\"{LEFT}\" cy=\"16\" r=\"5\"/>"
    ));
    line(format!(
        "<text class=\"text\" x=\"{}\" y=\"20\">Farfel</text>",
        LEFT + 12.0
    ));
    let x = LEFT + 80.0;
    line(format!(
        "<circle class=\"other\" cx=\"{x}\" cy=\"16\" r=\"4.5\"/>"
    ));
    line(format!(
        "<text class=\"text\" x=\"{}\" y=\"20\">Tapenade (C)</text>",
        x + 12.0
    ));
    for power in AXIS.0..=AXIS.1 {
        let x = place(10f64.powi(power));
        let class = if power == 0 { "line" } else { "grid" };
        line(format!(
            "<line class=\"{class}\" x1=\"{x:.1}\" y1=\"{}\" x2=\"{x:.1}\" y2=\"{bottom}\"/>",
            TOP - 10.0
        ));
        let label = match power {
            0 => "by hand".to_owned(),
            n => format!("× {}", 10f64.powi(n)),
        };
        line(format!(
            "<text class=\"text\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
            TOP - 16.0
        ));
    }
    for (i, row) in table.iter().enumerate() {
        let y = TOP + ROW * (i as f64 + 0.5);
        line(format!(
            "<text class=\"text\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
            LEFT - 14.0,
            y + 4.5,
            row.data
        ));
        line(format!(
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\"/>",
            LEFT + WIDTH
        ));
        let (ours, theirs) = (row.ours / row.by_hand, row.tapenade / row.by_hand);
        line(format!(
            "<circle class=\"other\" cx=\"{:.1}\" cy=\"{y}\" r=\"4.5\"><title>Tapenade: {theirs:.2}</title></circle>",
            place(theirs)
        ));
        line(format!(
            "<circle class=\"ours\" cx=\"{:.1}\" cy=\"{y}\" r=\"5\"><title>Farfel: {ours:.2}</title></circle>",
            place(ours)
        ));
    }
    line(format!(
        "<text class=\"text\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">Time of the derivatives, relative to \
         hand-written ones (C++); left is faster</text>",
        LEFT + WIDTH / 2.0,
        bottom + 28.0
    ));
    line("</svg>".into());
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plot_shows_the_table() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let table = rows(&std::fs::read_to_string(here.join("README.md")).unwrap()).unwrap();
        assert_eq!(table.len(), 13);
        let drawn = std::fs::read_to_string(here.join("../docs/adbench.svg")).unwrap();
        assert!(
            drawn == plot(&table),
            "`cargo run -p farfel-benches --bin adbench-plot` makes docs/adbench.svg anew"
        );
        for row in &table {
            for ratio in [row.ours / row.by_hand, row.tapenade / row.by_hand] {
                let x = place(ratio);
                assert!((LEFT..=LEFT + WIDTH).contains(&x), "{}: {ratio}", row.data);
            }
        }
    }

    #[test]
    fn wrong_tables_are_errors() {
        assert!(rows("").is_err());
        assert!(rows(&format!("{HEADER}\n|---|\n| a | 1 |\n")).is_err());
        assert!(rows(&format!("{HEADER}\n|---|\n| a | 1 | x | 1 | 1 | 1 | 1 |\n")).is_err());
    }
}
