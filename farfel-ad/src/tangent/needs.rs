//! Finds forms of the program without which tangents cannot be made.
//!
//! Forward mode takes programs almost as they are, so that the generated code is as close to the source, and
//! as fast, as possible. A few statements have no tangent in their original form: an active call of an ENTRY,
//! a loop whose variable has a derivative, an array statement whose derivative differs from element to
//! element. [`possible`](super::possible) defines these for the generator as well. This module finds out,
//! from the activity of each unit, whether there are such statements, and which [`Form`]s of the program
//! avoid them.
//!
//! One context of each unit is enough for this: everything that is active in some call. If the program
//! contains nothing of the kind, nothing is analysed.

use super::Engine;
use super::possible::{Operand, StatementActivity, lacks_variable, obstacle};
use crate::activity::{Activity, Problem, Site};
use crate::calls::{CallSite, calls};
use crate::flow::FlowGraph;
use crate::layout::{Layout, Unknown};
use crate::legal::scalarize::is_wanted;
use crate::locations::{Context, Set, Space, differentiable};
use crate::passes::{Form, Forms};
use farfel_lang::callgraph::CallGraph;
use farfel_lang::intrinsics::{Intrinsic, Op};
use farfel_lang::ir::{
    BinOp, Block, Class, DoControl, Expr, ExprKind, Name, Program, Stmt, StmtKind, StorageClass,
    SymId, Type, Unit, for_each_symbol, walk_block,
};
use farfel_lang::storage::constant::extents;
use farfel_lang::types::{rank, type_of};
use std::collections::{HashMap, HashSet};

/// Returns those of the lacking forms without which the tangents of some heads in these contexts cannot be made.
pub(super) fn needed(engine: &Engine, heads: &[(Name, Context)], lacks: Forms) -> Forms {
    if lacks.has(Form::NoEntries) && entries_may_change_common(engine.program) {
        return Forms::of(&[Form::NoEntries]);
    }
    let mut survey = Survey {
        engine,
        contexts: HashMap::new(),
        open: Vec::new(),
        found: Forms::default(),
    };
    for (head, context) in heads {
        survey.ask(head, context.clone());
    }
    while let Some(name) = survey.open.pop() {
        if let Some(unit) = engine.find(&name) {
            survey.unit(unit);
        }
    }
    survey.found.intersection(lacks)
}

/// Whether some ENTRY point, or something that it calls, may have an effect on COMMON variables that another
/// unit names. Calls of an ENTRY point do not show this effect.
fn entries_may_change_common(program: &Program) -> bool {
    let entry = |s: &Stmt| matches!(s.kind, StmtKind::Entry(_));
    let shared = |u: &Unit, block: &Name| {
        let mut named = false;
        for_each_symbol(&u.body, &mut |s| {
            named |= matches!(&u.symbols[s].storage_class, StorageClass::Common(b) if b == block);
        });
        named
    };
    let with_entries = |i: &usize| program.units[*i].body.iter().any(entry);
    let roots: Vec<usize> = (0..program.units.len()).filter(with_entries).collect();
    if roots.is_empty() {
        return false;
    }
    let reached = CallGraph::of(program).reached(roots);
    reached.into_iter().map(|i| &program.units[i]).any(|u| {
        u.symbols.iter().any(|(_, s)| match &s.storage_class {
            StorageClass::Common(block) if s.ty.is_some_and(Type::is_differentiable) => {
                let others = program.units.iter().filter(|o| o.name != u.name);
                others.into_iter().any(|o| shared(o, block))
            }
            _ => false,
        })
    })
}

/// Whether a unit declares arguments that only ENTRY points have and that could not be declared without them: arrays
/// and texts of any size. The tangent has no ENTRY points.
fn declares_more(unit: &Unit) -> bool {
    unit.symbols.iter().any(|(id, s)| {
        let any_size = s.is_array() && extents(unit, &s.dims).is_none();
        let any_length = (s.length.as_ref()).is_some_and(|e| e.kind == ExprKind::Star);
        s.storage_class == StorageClass::Dummy
            && (any_size || any_length)
            && !unit.args.iter().any(|a| a.sym() == Some(id))
    })
}

fn is_entry(program: &Program, name: &Name) -> bool {
    let mut entries = program.units.iter().flat_map(|u| u.entry_points().skip(1));
    entries.any(|e| e.name == name)
}

/// The units that derivatives go through.
struct Survey<'a> {
    engine: &'a Engine<'a>,
    /// Everything that is active in some call of each unit.
    contexts: HashMap<Name, Context>,
    /// Units whose context has grown.
    open: Vec<Name>,
    found: Forms,
}

impl Survey<'_> {
    /// Requests a context for a call of a unit.
    fn ask(&mut self, unit: &Name, context: Context) {
        let grown = match self.contexts.get_mut(unit) {
            None => {
                self.contexts.insert(unit.clone(), context);
                true
            }
            Some(all) => {
                let grown = !context.inputs.is_subset(&all.inputs)
                    || !context.outputs.is_subset(&all.outputs);
                all.inputs.union_with(&context.inputs);
                all.outputs.union_with(&context.outputs);
                grown
            }
        };
        if grown && !self.open.contains(unit) {
            self.open.push(unit.clone());
        }
    }

    fn unit(&mut self, unit: &Unit) {
        let engine = self.engine;
        let Some(context) = self.contexts.get(&unit.name) else {
            return;
        };
        if declares_more(unit) {
            self.found = self.found.union(Forms::of(&[Form::NoEntries]));
        }
        let space = Space::of(unit, &engine.dependence.commons);
        let flow = FlowGraph::of(unit);
        let admit = |name: &str, c: Context| match engine.dependence.rules.get(name) {
            Some(rule) => rule.context(&c),
            None => c,
        };
        let problem = Problem {
            unit,
            space: &space,
            flow: &flow,
            dependence: &engine.dependence,
            admit: &admit,
            assume: engine.layout.unknown == Unknown::Provided,
        };
        let activity = problem.solve(&space.locs(&context.inputs), &space.locs(&context.outputs));
        let &Layout {
            vector: several,
            pattern,
            ..
        } = engine.layout;
        if problem.refused(&activity, several, false).is_some() {
            self.need(Form::EqualBlocks);
        }
        for (node, s) in flow.stmts.iter().enumerate() {
            let surveyed = SurveyedStatement::at(&problem, &activity, node, s, [several, pattern]);
            self.statement(&surveyed, s);
        }
    }

    fn need(&mut self, form: Form) {
        self.found = self.found.union(Forms::of(&[form]));
    }

    fn statement(&mut self, surveyed: &SurveyedStatement, s: &Stmt) {
        let unit = surveyed.problem.unit;
        if let StmtKind::Do(d) = &s.kind {
            if surveyed.statement_activity().counts_active(&d.control) {
                self.need(Form::PlainCounters);
            }
            if matches!(&d.control, DoControl::While(c) if surveyed.statement_activity().calls_active(c))
            {
                self.need(Form::PlainConditions);
            }
        }
        if surveyed.needs_elements(s) {
            self.need(Form::Elements);
        }
        // In a statement without derivatives, the derivatives of function results are not used.
        let wanted = match &s.kind {
            StmtKind::Assign(target, value) => {
                surveyed.statement_activity().is_active(target, value)
            }
            StmtKind::Call(..) => true,
            _ => false,
        };
        for (call, _) in calls(unit, s) {
            let callee = &unit.symbols[call.callee].name;
            match surveyed.statement_activity().site(call, wanted) {
                Some(Site::Known(context)) => {
                    if surveyed.passes_expressions(call, &context) {
                        self.need(Form::Elements);
                    }
                    self.ask(callee, context);
                }
                Some(Site::Unknown) if is_entry(self.engine.program, callee) => {
                    self.need(Form::NoEntries);
                }
                Some(Site::Unknown) | None => {}
            }
        }
    }
}

/// A statement of a unit, and what is active there.
struct SurveyedStatement<'a> {
    problem: &'a Problem<'a>,
    activity: &'a Activity,
    /// The locations that are varied while it is executed.
    varied: Set,
    /// The live derivatives after it.
    after: &'a Set,
    /// These, and those that are live after any of the calls in it.
    live: Set,
    /// There are several directions.
    several: bool,
    /// Only the pattern of dependences is wanted, not numbers.
    pattern: bool,
}

impl<'a> SurveyedStatement<'a> {
    fn at(
        problem: &'a Problem<'a>,
        activity: &'a Activity,
        node: usize,
        s: &Stmt,
        [several, pattern]: [bool; 2],
    ) -> Self {
        let (unit, space) = (problem.unit, problem.space);
        let masked = problem.flow.masked[node];
        let moves = problem.dependence.moves(unit, space, s, masked);
        let mut varied = problem.varied_within(&activity.varied[node], &moves);
        if let StmtKind::Where(_) = s.kind {
            for inner in problem.flow.nodes_within(node).skip(1) {
                varied.union_with(&activity.varied[inner]);
            }
        }
        let after = &activity.live[node];
        let live = problem.live_within(node, activity, &moves);
        SurveyedStatement {
            problem,
            activity,
            varied,
            after,
            live,
            several,
            pattern,
        }
    }

    fn unit(&self) -> &'a Unit {
        self.problem.unit
    }

    fn statement_activity(&self) -> StatementActivity<'_> {
        StatementActivity {
            problem: self.problem,
            varied: &self.varied,
            after: self.after,
            live: &self.live,
        }
    }

    fn is_varied(&self, e: &Expr) -> bool {
        self.statement_activity().is_varied(e)
    }

    /// Whether a statement is an array statement whose tangent is not one.
    fn needs_elements(&self, s: &Stmt) -> bool {
        match &s.kind {
            StmtKind::Assign(target, value) => {
                let calls = || {
                    let mut found = false;
                    value.walk(&mut |e| {
                        found |= matches!(e.kind, ExprKind::ImpliedDo(_))
                            && self.statement_activity().calls_active(e);
                    });
                    found
                };
                let mut listed = false;
                value.walk(&mut |e| listed |= matches!(e.kind, ExprKind::Array(_)));
                is_wanted(self.unit(), s)
                    && (calls()
                        || self.statement_activity().is_active(target, value)
                            && (self.pattern && listed || self.has_no_tangent(value)))
            }
            StmtKind::Where(w) => {
                let mut assigned = HashSet::new();
                s.walk(&mut |s| {
                    if let StmtKind::Assign(target, _) = &s.kind {
                        assigned.extend(target.base());
                    }
                });
                let mut masks = w.block.arms.iter().skip(1).map(|(mask, _)| mask);
                let bodies = w.block.arms.iter().map(|(_, body)| body);
                masks.any(|m| self.statement_activity().calls_active(m))
                    || bodies
                        .chain(&w.block.otherwise)
                        .any(|b| self.leaves_where(b, &assigned))
            }
            _ => false,
        }
    }

    /// Whether the tangents of statements in WHERE need other statements that can be neither in it nor before
    /// it: these would need conditions, or read what WHERE assigns.
    fn leaves_where(&self, body: &Block, assigned: &HashSet<SymId>) -> bool {
        let mut found = false;
        walk_block(body, &mut |s| {
            let StmtKind::Assign(target, value) = &s.kind else {
                return;
            };
            let after = &self.activity.live[self.problem.flow.node(s.id)];
            let live = target.base().is_some_and(|s| {
                let loc = self.problem.space.loc(s);
                differentiable(&self.unit().symbols[s]) && after.contains(loc)
            });
            if !live {
                return;
            }
            // Each direction would need its own WHERE.
            found |= self.several || self.pattern || self.has_no_tangent(value);
            value.walk(&mut |e| {
                let number = rank(self.unit(), e) == 0 && self.is_computed(e);
                let mut bound = false;
                e.walk(&mut |e| bound |= self.has_cases(e));
                e.for_each_symbol(&mut |s| bound |= assigned.contains(&s));
                found |= number && bound;
            });
        });
        found
    }

    /// Whether a scalar varies and is more than a sum or product: its tangent takes additional statements.
    fn is_computed(&self, e: &Expr) -> bool {
        let own = matches!(
            e.kind,
            ExprKind::Call(..) | ExprKind::Binary(BinOp::Div | BinOp::Pow, ..)
        );
        own && self.is_varied(e)
    }

    /// Whether the tangent of a scalar may need a case distinction.
    fn has_cases(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Call(s, _) => match self.unit().symbols[*s].class {
                Class::Intrinsic(i) => !matches!(
                    i.op,
                    Op::Convert
                        | Op::Exp
                        | Op::Log
                        | Op::Log10
                        | Op::Sin
                        | Op::Cos
                        | Op::Tan
                        | Op::Asin
                        | Op::Acos
                        | Op::Atan
                        | Op::Sinh
                        | Op::Cosh
                        | Op::Tanh
                ),
                _ => true,
            },
            ExprKind::Binary(BinOp::Pow, _, n) => !matches!(n.kind, ExprKind::Int(_)),
            _ => false,
        }
    }

    /// Whether a call passes an active array expression whose tangent must be a variable.
    fn passes_expressions(&self, call: CallSite, context: &Context) -> bool {
        call.args.iter().enumerate().any(|(i, a)| {
            let variable = matches!(a.kind, ExprKind::Var(_) | ExprKind::Element(..));
            context.active(i)
                && !variable
                && (lacks_variable(
                    rank(self.unit(), a) > 0,
                    context.outputs.contains(i),
                    self.several,
                ) || self.has_no_tangent(a))
        })
    }

    /// Whether an expression has no tangent that is an array expression, too.
    fn has_no_tangent(&self, e: &Expr) -> bool {
        if !self.is_varied(e) {
            return false;
        }
        match &e.kind {
            ExprKind::Var(_) | ExprKind::Element(..) => false,
            ExprKind::Array(a) => a.items.iter().any(|i| self.is_no_element(i)),
            ExprKind::Call(s, args) => {
                let own = match self.unit().symbols[*s].class {
                    Class::Intrinsic(i) => self.is_unknown(e, i, args),
                    _ => false,
                };
                own || args.iter().any(|a| self.has_no_tangent(a))
            }
            _ => e.children().into_iter().any(|c| self.has_no_tangent(c)),
        }
    }

    /// The same for an item of an array constructor: an implied DO has no place for statements.
    fn is_no_element(&self, item: &Expr) -> bool {
        let ExprKind::ImpliedDo(d) = &item.kind else {
            return self.has_no_tangent(item);
        };
        d.items.iter().any(|i| {
            let mut computed = false;
            i.walk(&mut |e| computed |= self.is_computed(e));
            computed || self.is_no_element(i)
        })
    }

    /// Whether an intrinsic function of arrays has no tangent in its present form.
    fn is_unknown(&self, e: &Expr, i: &Intrinsic, args: &[Expr]) -> bool {
        let unit = self.unit();
        if !type_of(unit, e).is_some_and(Type::is_differentiable) {
            return false;
        }
        let operands = args.iter().map(|a| Operand {
            keyword: Operand::keyword_of(a),
            array: rank(unit, a) > 0,
            tangent: self.is_varied(a).then(|| self.is_array_tangent(a)),
        });
        let operands: Vec<Operand> = operands.collect();
        obstacle(i, &operands, rank(unit, e) > 0, self.pattern)
            .is_some_and(|o| o.goes_by_elements(i, &operands))
    }

    /// Whether the tangent of a varied array expression is an array. That of `X + S`, where only the scalar S
    /// varies, is not.
    fn is_array_tangent(&self, e: &Expr) -> bool {
        let unit = self.unit();
        if rank(unit, e) == 0 || !self.is_varied(e) {
            return false;
        }
        match &e.kind {
            ExprKind::Paren(a) | ExprKind::Unary(_, a) | ExprKind::Keyword(_, a) => {
                self.is_array_tangent(a)
            }
            ExprKind::Binary(BinOp::Add | BinOp::Sub, a, b) => {
                self.is_array_tangent(a) || self.is_array_tangent(b)
            }
            ExprKind::Binary(_, a, b) => {
                let term = |x: &Expr, factor: &Expr| {
                    self.is_varied(x) && (rank(unit, factor) > 0 || self.is_array_tangent(x))
                };
                term(a, b) || term(b, a)
            }
            ExprKind::Call(s, args) => match (&unit.symbols[*s].class, args.as_slice()) {
                (Class::Intrinsic(i), [a, ..]) if i.op == Op::Convert => self.is_array_tangent(a),
                _ => true,
            },
            _ => true,
        }
    }
}
