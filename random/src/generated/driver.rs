//! Generates the drivers that call the head of a program in Fortran 77, and its derivatives.

use super::unit::line;
use super::{Case, Item};

/// The kinds of derivatives, and the tool that makes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// AD blocks: forward mode, several directions, and reverse mode.
    Blocks,
    /// An AD block that requests a pattern.
    Pattern,
    /// `farfel tapenade -d`
    Tangent,
    /// `farfel tapenade -b`
    Adjoint,
    /// `farfel tapenade -d -multi`
    Directions,
    /// `farfel tapenade -b -multi`
    Cotangents,
    /// `farfel tapenade -d` with all subprograms as heads
    TangentOfAll,
    /// `farfel tapenade -b` with all subprograms as heads
    AdjointOfAll,
}

const TANGENT: [&str; 3] = [
    "ADF(TANGENT(XI) = XD)",
    "CALL $(XI, YO)",
    "END ADF(YD = TANGENT(YO))",
];

const DIRECTIONS: [&str; 3] = [
    "ADF(DIRECTIONS = 2, ((TANGENT(XI(I), J) = XV(J,I), I = 1, 3), J = 1, 2))",
    "CALL $(XI, YO)",
    "END ADF(((YV(J,I) = TANGENT(YO(I), J), I = 1, 6), J = 1, 2))",
];

const PATTERN: [&str; 3] = [
    "ADF(PATTERN = 3, (TANGENT(XI(J), J) = .TRUE., J = 1, 3))",
    "CALL $(XI, YO)",
    "END ADF(((LP(J,I) = TANGENT(YO(I), J), I = 1, 6), J = 1, 3))",
];

const ADJOINT: [&str; 3] = [
    "ADR(COTANGENT(YO) = YB)",
    "CALL $(XI, YO)",
    "END ADR(XB = COTANGENT(XI))",
];

impl Driver {
    /// All drivers.
    pub const ALL: [Driver; 8] = [
        Driver::Blocks,
        Driver::Pattern,
        Driver::Tangent,
        Driver::Adjoint,
        Driver::Directions,
        Driver::Cotangents,
        Driver::TangentOfAll,
        Driver::AdjointOfAll,
    ];

    /// Returns the options of `farfel tapenade`; none if the compiler makes the derivatives.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Driver::Blocks | Driver::Pattern => &[],
            Driver::Tangent | Driver::TangentOfAll => &["-d"],
            Driver::Adjoint | Driver::AdjointOfAll => &["-b"],
            Driver::Directions => &["-d", "-multi"],
            Driver::Cotangents => &["-b", "-multi"],
        }
    }

    /// Returns what to differentiate, for the option `-head`.
    pub fn heads(self, case: &Case) -> String {
        let mut heads = format!("{}(YO)/(XI)", Self::head(case));
        if matches!(self, Driver::TangentOfAll | Driver::AdjointOfAll) {
            let text = case.text();
            let name = |line: &str| {
                let (_, rest) = (line.split_once("SUBROUTINE ")).or(line.split_once("FUNCTION "))?;
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
                Some(rest[..end.unwrap_or(rest.len())].to_owned())
            };
            let all = text.lines().filter(|l| !l.contains('\'')).filter_map(name);
            for name in all.filter(|n| *n != Self::head(case)) {
                heads = format!("{heads} {name}");
            }
        }
        heads
    }

    /// Returns the name of the head of a case.
    pub fn head(case: &Case) -> String {
        format!("H{}X", case.name)
    }

    /// Returns the subroutine with the case's name: with AD blocks, which define the expected
    /// results, or with calls of what the options generate.
    pub fn driver(self, case: &Case, blocks: bool) -> Item {
        let mut out: Vec<String> = Vec::new();
        let name = &case.name;
        out.push(format!("SUBROUTINE {name}"));
        out.push("IMPLICIT DOUBLE PRECISION (A-H,O-Z)".into());
        out.push("DIMENSION XI(3), XD(3), XB(3), XV(2,3)".into());
        out.push("DIMENSION YO(6), YD(6), YB(6), YV(2,6)".into());
        out.push("LOGICAL LP(3,6)".into());
        // The next call finds what derivatives leave behind in COMMON and SAVE.
        let calls = match self {
            Driver::Blocks | Driver::Pattern => 1,
            _ => 2,
        };
        out.push(format!("DO 30 IT = 1, {calls}"));
        out.push("DO 10 I = 1, 3".into());
        out.push("XI(I) = 0.37D0*I - 0.11D0*IT - 0.44D0".into());
        out.push("XD(I) = 0.6D0 - 0.23D0*I*I".into());
        out.push("XB(I) = 0".into());
        out.push("XV(1,I) = 0.5D0*I".into());
        out.push("XV(2,I) = 1.1D0 - I".into());
        out.push("10 CONTINUE".into());
        out.push("DO 20 I = 1, 6".into());
        out.push("YD(I) = 0".into());
        out.push("YB(I) = 0.9D0 - 0.31D0*I".into());
        out.push("20 CONTINUE".into());
        let mut block = |lines: [&str; 3], print: &str| {
            out.extend(lines.map(|l| l.replace('$', &Self::head(case))));
            out.push(format!("PRINT *, '{name}', {print}"));
        };
        match (self, blocks) {
            (Driver::Blocks, _) => {
                block(TANGENT, "YO, YD");
                block(DIRECTIONS, "YO, YV");
                block(ADJOINT, "YO, XB");
            }
            (Driver::Pattern, _) => block(PATTERN, "YO, LP"),
            (Driver::Tangent | Driver::TangentOfAll, true) => block(TANGENT, "YO, YD"),
            (Driver::Adjoint | Driver::AdjointOfAll, true) => block(ADJOINT, "XB"),
            (Driver::Directions, true) => block(DIRECTIONS, "YO, YV"),
            (Driver::Cotangents, true) => block(ADJOINT, "XB, (-3*XB(I), I = 1, 3)"),
            (Driver::Cotangents, false) => {
                out.push("DO 40 I = 1, 6".into());
                out.push("YV(1,I) = YB(I)".into());
                out.push("40 YV(2,I) = -3*YB(I)".into());
                out.push(format!("CALL {}_BV(XI, XV, YO, YV, 2)", Self::head(case)));
                let both = ["(XV(1,I), I = 1, 3)", "(XV(2,I), I = 1, 3)"].join(", ");
                out.push(format!("PRINT *, '{name}', {both}"));
            }
            (Driver::Tangent | Driver::TangentOfAll, false) => {
                out.push(format!("CALL {}_D(XI, XD, YO, YD)", Self::head(case)));
                out.push(format!("PRINT *, '{name}', YO, YD"));
            }
            (Driver::Adjoint | Driver::AdjointOfAll, false) => {
                out.push(format!("CALL {}_B(XI, XB, YO, YB)", Self::head(case)));
                out.push(format!("PRINT *, '{name}', XB"));
            }
            (Driver::Directions, false) => {
                out.push(format!("CALL {}_DV(XI, XV, YO, YV, 2)", Self::head(case)));
                out.push(format!("PRINT *, '{name}', YO, YV"));
            }
        }
        out.push("30 CONTINUE".into());
        out.push("END".into());
        Item::Group(out.iter().map(|l| line(l)).collect())
    }
}
