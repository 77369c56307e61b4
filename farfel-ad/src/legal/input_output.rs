//! Removes input and output from subprograms, for adjoints: the primal run has done it. STOP is
//! removed as well: it is not reached if the primal run completed.

use super::loop_control::{Writer, rewritten};
use farfel_lang::Span;
use farfel_lang::access::{self, Access, AccessKind, Role};
use farfel_lang::diagnostic::{Diagnostic, rules};
use farfel_lang::flow::FlowGraph;
use farfel_lang::ir::{
    BinOp, Block, Class, DoEnd, Expr, ExprKind, IfBlock, Io, IoKind, Request, SpecKind, Stmt,
    StmtId, StmtKind, StorageClass, SymId, Symbol, Type, Unit, walk_block, walk_block_mut,
};
use farfel_lang::solve::{Graph, May, backward};
use farfel_lang::storage::UnitStorage;
use farfel_lang::types::{rank, type_of};
use std::collections::{HashMap, HashSet};

/// Whether a unit has any input or output.
pub(crate) fn has_input_output(unit: &Unit) -> bool {
    let mut found = false;
    walk_block(&unit.body, &mut |s| found |= is_input_or_output(unit, s));
    found
}

fn is_input_or_output(unit: &Unit, s: &Stmt) -> bool {
    match &s.kind {
        StmtKind::Stop(_) | StmtKind::Pause(_) => true,
        StmtKind::Io(io) => !io.is_internal(unit),
        _ => false,
    }
}

/// Removes input, output, STOP and PAUSE from a unit. Returns whether there were any. Other effects
/// of output statements are kept: implied DOs set their variables, and functions may have side
/// effects.
pub(crate) fn without_input_output(
    unit: &mut Unit,
    request: &Request,
    errors: &mut Vec<Diagnostic>,
) -> bool {
    if !has_input_output(unit) {
        return false;
    }
    unit.number();
    let mut rests = rests(unit);
    let mut body = std::mem::take(&mut unit.body);
    if !rests.is_empty() {
        // Labels stay where they are, but loops no longer end at them.
        walk_block_mut(&mut body, &mut |s| {
            if let StmtKind::Do(d) = &mut s.kind {
                d.end = DoEnd::EndDo(None);
            }
        });
    }
    rewritten(unit, body, |writer, body| {
        let mut silencer = Silencer {
            writer,
            request,
            errors,
            rests: &mut rests,
        };
        silencer.block(body);
    });
    true
}

/// The implied DOs and the function calls of an input or output statement.
struct Remainder {
    items: Vec<Expr>,
    /// The variables of its implied DOs that are read afterwards.
    counters: HashSet<SymId>,
}

/// Returns what has to be kept of each statement, where there is anything.
fn rests(unit: &Unit) -> HashMap<StmtId, Remainder> {
    let flow = FlowGraph::of(unit);
    let mut live = None;
    let one = |(i, s): (usize, &&Stmt)| {
        let StmtKind::Io(io) = &s.kind else {
            return None;
        };
        let (mut counters, mut calls) = (HashSet::new(), false);
        access::statement(unit, s, false, &mut |a| match a {
            Access::Call(_) => calls = true,
            // Lowering handles the variables of input.
            Access::Variable {
                sym,
                role: Role::Counter,
                ..
            } if io.kind != IoKind::Read => {
                counters.insert(sym);
            }
            _ => {}
        });
        if io.is_internal(unit) || !calls && counters.is_empty() {
            return None;
        }
        let live: &Vec<May> = live.get_or_insert_with(|| live_after(unit, &flow));
        counters.retain(|s| live[i].contains(s.0 as usize));
        let items = io.control.iter().chain(&io.items).cloned().collect();
        (calls || !counters.is_empty()).then_some((s.id, Remainder { items, counters }))
    };
    flow.stmts.iter().enumerate().filter_map(one).collect()
}

/// Returns the variables whose values may be needed after each statement.
fn live_after(unit: &Unit, flow: &FlowGraph) -> Vec<May> {
    let storage = UnitStorage::of(unit);
    let everything = |k: &SpecKind| matches!(k, SpecKind::Save(l) if l.is_empty());
    let everything = unit.specs.iter().any(|s| everything(&s.kind));
    let stays = |(id, s): (SymId, &Symbol)| {
        let own =
            s.storage_class == StorageClass::Local && !s.saved && !everything && storage.is_own(id);
        (!own).then_some(id.0 as usize)
    };
    let mut kept = May::with_capacity(unit.symbols.len());
    kept.extend(unit.symbols.iter().filter_map(stays));
    let transfer = &mut |i: usize, live: &mut May| {
        let Some(s) = flow.stmts.get(i) else { return };
        let mut events: Vec<(SymId, bool)> = Vec::new();
        access::statement(unit, s, flow.masked[i], &mut |a| match a {
            Access::Variable { sym, kind, .. } if kind.reads() => events.push((sym, true)),
            Access::Variable {
                sym,
                kind: AccessKind::Write,
                ..
            } => events.push((sym, false)),
            Access::Variable { .. } | Access::SideEffect(_) => {}
            Access::Call(call) => {
                let passed = (0..call.args.len()).filter_map(|k| call.passed_variable(k));
                events.extend(passed.map(|p| (p.sym, true)));
            }
            Access::Closure { captured, .. } => events.extend(captured.iter().map(|s| (*s, true))),
        });
        for (sym, read) in events.into_iter().rev() {
            let bit = sym.0 as usize;
            live.set(bit, read || kept.contains(bit));
        }
    };
    let end = kept.clone();
    backward(&Graph::of(flow), flow.exit, end, &kept, transfer)
}

struct Silencer<'a, 'w, 'u> {
    writer: &'a mut Writer<'u>,
    request: &'a Request,
    errors: &'w mut Vec<Diagnostic>,
    rests: &'w mut HashMap<StmtId, Remainder>,
}

impl Silencer<'_, '_, '_> {
    fn block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.len());
        for mut s in std::mem::take(block) {
            let mut rest = self.statement(&mut s);
            match &mut s.kind {
                StmtKind::LogicalIf(c, inner) => {
                    let mut made = self.statement(inner);
                    if !made.is_empty() {
                        let inner = std::mem::replace(&mut **inner, Stmt::continues(s.span));
                        made.push(inner);
                        let condition = std::mem::replace(c, Expr::logical(true, s.span));
                        s.kind = StmtKind::If(IfBlock {
                            arms: vec![(condition, made)],
                            ..IfBlock::default()
                        });
                    }
                }
                _ => s.blocks_mut().into_iter().for_each(|b| self.block(b)),
            }
            if let Some(first) = rest.first_mut() {
                first.label = s.label.take();
            }
            out.append(&mut rest);
            out.push(s);
        }
        *block = out;
    }

    /// Removes input and output from a statement itself. Returns the statements that must precede
    /// it.
    fn statement(&mut self, s: &mut Stmt) -> Block {
        let rest = self.rests.remove(&s.id);
        let unit = &*self.writer.unit;
        s.kind = match &s.kind {
            StmtKind::Stop(_) | StmtKind::Pause(_) => StmtKind::Continue,
            StmtKind::Io(io) if !io.is_internal(unit) => {
                let reads_now = matches!(io.kind, IoKind::Read | IoKind::Inquire);
                // Lowering passes what the head itself reads, or rejects it.
                if reads_now && unit.name != self.request.head {
                    self.errors.push(reads(unit, s, self.request));
                }
                match status(io) {
                    _ if reads_now => StmtKind::Continue,
                    // The status reports success.
                    Some(v) => StmtKind::Assign(v.clone(), Expr::int(0, s.span)),
                    None => StmtKind::Continue,
                }
            }
            _ => return Vec::new(),
        };
        let mut out = Vec::new();
        if let Some(rest) = rest {
            for e in &rest.items {
                self.item(e, &rest.counters, s.span, &mut out);
            }
        }
        out
    }

    fn item(&mut self, e: &Expr, counters: &HashSet<SymId>, span: Span, out: &mut Block) {
        let ExprKind::ImpliedDo(d) = &e.kind else {
            return self.calls(e, span, out);
        };
        let mut body = Vec::new();
        for i in &d.items {
            self.item(i, counters, span, &mut body);
        }
        if body.is_empty() && !counters.contains(&d.var) {
            for e in [&d.from, &d.to].into_iter().chain(&d.step) {
                self.calls(e, span, out);
            }
            return;
        }
        let ends = [d.from.clone(), d.to.clone()];
        out.push(Stmt::count(d.var, ends, d.step.clone(), body, span));
    }

    /// Calls the functions in an expression.
    fn calls(&mut self, e: &Expr, span: Span, out: &mut Block) {
        let unit = &*self.writer.unit;
        let mut found = false;
        access::expression(unit, e, &mut |a| found |= matches!(a, Access::Call(_)));
        if !found {
            return;
        }
        let whole = match &e.kind {
            ExprKind::Call(s, _) => !matches!(unit.symbols[*s].class, Class::Intrinsic(_)),
            ExprKind::Binary(op, ..) => matches!(op, BinOp::And | BinOp::Or),
            _ => false,
        };
        if !whole || rank(unit, e) > 0 {
            let children = e.children().into_iter();
            return children.for_each(|c| self.calls(c, span, out));
        }
        match type_of(unit, e) {
            Some(ty) if ty != Type::Character => {
                let t = self.writer.variable("TEMP", ty);
                out.push(Stmt::assign(t, e.clone(), span));
            }
            _ => {
                let blank = Expr::text(" ", span);
                let asks = Expr::binary(BinOp::Eq, e.clone(), blank);
                out.push(Stmt::logical_if(asks, Stmt::continues(span), span));
            }
        }
    }
}

fn reads(unit: &Unit, s: &Stmt, request: &Request) -> Diagnostic {
    Diagnostic::error(
        &rules::AD_INPUT,
        s.span,
        format!(
            "{} reads, and an ADR block computes its statements twice",
            unit.name
        ),
    )
    .label("would be done twice")
    .related(request.span, "for this AD block")
    .help("read before the ADR block, and use what was read inside")
}

fn status(io: &Io) -> Option<&Expr> {
    io.control.iter().find_map(|e| match &e.kind {
        ExprKind::Keyword(name, e) if name == "IOSTAT" => Some(&**e),
        _ => None,
    })
}
