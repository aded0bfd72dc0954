//! Complete modules: one text that uses all syntax, and invalid texts.

use super::ast::{Base, Body, Function, Instruction, Module, Operand, Space, Statement};
use super::parse;

const HEADER: &str = ".version 7.8\n.target sm_80\n.address_size 64\n.global .b32 outside;\n";

/// Parses a module with these directives.
pub(super) fn module(text: &str) -> Module {
    parse(&format!("{HEADER}{text}")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Returns the error of a module with these directives.
pub(super) fn module_error(text: &str) -> String {
    parse(&format!("{HEADER}{text}")).map(|module| format!("{module:?}")).expect_err(text).message
}

/// Parses the body of a kernel.
pub(super) fn body(text: &str) -> Body {
    let Function { body, .. } = module(&format!(".entry kernel()\n{{\n{text}\n}}")).functions.remove(0);
    body.expect("it has a body")
}

/// Returns the error of the body of a kernel.
pub(super) fn error(text: &str) -> String {
    module_error(&format!(".entry kernel()\n{{\n{text}\n}}"))
}

/// Returns the instructions of a body.
pub(super) fn instructions(body: &Body) -> impl Iterator<Item = &Instruction> {
    body.statements.iter().filter_map(|statement| match statement {
        Statement::Instruction(inst) => Some(inst),
        Statement::Label(_) => None,
    })
}

/// A text as compilers write it, with a little of everything.
const SAMPLE: &str = r#"//
// Written by hand, after what clang and NVRTC emit
//
.version 8.5
.target sm_90a, debug
.address_size 64

	// .globl	axpy                 // -- Begin function axpy
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0,
	.param .b64 vprintf_param_1
)
;
.extern .shared .align 16 .b8 dynamic[];
.visible .const .align 1 .u8 narrow = 1;
.visible .const .align 4 .b8 table[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3};
.global .align 8 .u64 pointers[3] = {generic(target)+4, target, 0};
.global .attribute(.managed) .align 4 .b8 target[40];
.global .align 1 .b8 $str[11] = {118, 61, 37, 102, 10};
.visible .func (.param .align 16 .b8 func_retval0[40]) make(
	.param .b32 make_param_0, .reg .f32 %scale
) .noreturn
{
	.reg .b32 %r<2>;
	ld.param.u32 %r1, [make_param_0];
	st.param.b32 [func_retval0+36], %r1;
	ret;
}
.visible .entry axpy(
	.param .u64 .ptr .global .align 16 axpy_param_0,
	.param .align 8 .b8 axpy_param_1[24],
	.param .f32 axpy_param_2
)
.maxntid 128, 2
.minnctapersm 2
.maxnreg 64
{
	.local .align 8 .b8 	__local_depot0[16];
	.reg .b64 	%SP;
	.reg .b64 	%SPL;
	.reg .pred 	%p<12>;
	.reg .b16 	%rs<30>;
	.reg .b32 	%r<69>;
	.reg .f32 	%f<5>;
	.reg .b64 	%rd<55>;
	.loc	1 12 0
$L__func_begin0:
	mov.u64 	%SPL, __local_depot0;
	cvta.local.u64 	%SP, %SPL;
	ld.param.u64 	%rd1, [axpy_param_1+8];  /* the second
	member */ cvta.to.global.u64 	%rd2, %rd1;
	mov.u32 	%r1, %tid.x;
	mov.u64 	%rd3, %clock64;
	{ // callseq 0, 0
	.param .b64 param0;
	st.param.b64 	[param0+0], %rd2;
	.param .b64 param1;
	st.param.b64 	[param1+0], 0U;
	.param .b32 retval0;
	call.uni (retval0),
	vprintf,
	(
	param0,
	param1
	);
	ld.param.b32 	%r2, [retval0+0];
	} // callseq 0
	{ // callseq 1, 0
	.param .b32 param0;
	.param .b32 retval0;
	prototype_1 : .callprototype (.param .b32 _) _ (.param .align 8 .b8 _[40], .reg .f32 _) .noreturn;
	call (retval0), %rd3, (param0), prototype_1;
	}
$L__BB0_3:                              //   in Loop: Header=BB0_2 Depth=1
	.pragma "nounroll";
	.loc	2 45 7, function_name $L__info_string0, inlined_at 1 20 3
	{ .reg .u64 s; .reg .u32 p; cvta.to.shared.u64 s, %rd1; cvt.u32.u64 p, s; cp.async.cg.shared.global [p], [%rd2], 16; }
	ld.global.v4.u32 	{%r4, _, %r6, %r7}, [%rd2+-8];
	mov.b32 	{%rs1, %rs2}, %r4;
	fma.rn.f32 	%f1, %f1, 0f3F800000, 0fBF800000;
	setp.lt.and.f32 	%p1|%p2, %f1, 0.5, !%p3;
	shfl.sync.bfly.b32 	%r5|%p4, %r4, 1<<4, WARP_SZ-1, -1;
	mov.f64 	%rd4, 0d3FF8000000000000;
	@!%p1 bra 	$L__BB0_3;
	@%p2 bra.uni 	$L__BB0_4;
$L_brx_0: .branchtargets
	$L__BB0_3,
	$L__BB0_4;
	brx.idx 	%r5, $L_brx_0;
$L__BB0_4:
	st.shared::cta.b32 	[dynamic+4], %r5;
	ld.const.u8 	%rs3, [table+2*4];
	{
	.reg .pred P1;
	LAB_WAIT:
	mbarrier.try_wait.parity.shared::cta.b64 P1, [%rd1], %r1;
	@P1 bra DONE;
	bra LAB_WAIT;
	DONE:
	}
	ret;
                                        // -- End function
}
	.file	1 "/tmp/a \"b\".cu", 1700000000, 123
	.file	2 "/tmp/é.cuh"
	.section	.debug_str
	{
$L__info_string0:
	.b8 95,90,0
	.b64 $L__func_begin0+4
	.b32 .debug_loc-8
	}
	.section	.debug_loc	{	}
"#;

#[test]
fn everything_at_once() {
    let module = parse(SAMPLE).unwrap();
    assert_eq!((module.version, module.target), ((8, 5), 90));
    assert_eq!(module.files, [(1, "/tmp/a \"b\".cu".to_string()), (2, "/tmp/é.cuh".to_string())]);
    let variables: Vec<_> = module.variables.iter().map(|v| (v.name.as_str(), v.space, v.bytes, v.align)).collect();
    assert_eq!(
        variables,
        [
            ("dynamic", Space::Shared, 0, 16),
            ("narrow", Space::Const, 1, 1),
            ("table", Space::Const, 16, 4),
            ("pointers", Space::Global, 24, 8),
            ("target", Space::Global, 40, 4),
            ("$str", Space::Global, 11, 1),
        ]
    );
    let functions: Vec<_> = module.functions.iter().map(|f| (f.name.as_str(), f.entry, f.body.is_some())).collect();
    assert_eq!(functions, [("vprintf", false, false), ("make", false, true), ("axpy", true, true)]);
    let kernel = &module.functions[2];
    assert_eq!(kernel.max_threads, Some([128, 2, 1]));
    assert_eq!((kernel.required_threads, kernel.min_blocks, kernel.max_registers), (None, Some(2), Some(64)));
    assert_eq!(kernel.parameters.iter().map(|parameter| parameter.offset).collect::<Vec<_>>(), [0, 8, 32]);

    let body = kernel.body.as_ref().unwrap();
    let names: Vec<_> = body.variables.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["__local_depot0", "param0", "param1", "retval0", "param0#1", "retval0#1"]);
    let find = |opcode: &str| instructions(body).find(|inst| inst.opcode == opcode).unwrap();
    let call = find("call");
    assert_eq!(call.modifiers, ["uni"]);
    let symbol = |name: &str| Operand::Symbol(name.into(), 0);
    assert_eq!(
        call.operands,
        [
            Operand::List(vec![symbol("retval0")]),
            Operand::Name("vprintf".into()),
            Operand::List(vec![symbol("param0"), symbol("param1")]),
        ]
    );
    assert_eq!(find("st").operands[1], Operand::Register(register(body, "%rd2")));
    let copy = find("cp");
    assert_eq!(copy.modifiers, ["async", "cg", "shared", "global"]);
    assert_eq!(copy.operands[0], Operand::Address(Base::Register(register(body, "p")), 0));
    assert_eq!(copy.location, Some((2, 45)));
    assert_eq!(SAMPLE.lines().nth(copy.line as usize - 1).map(|line| line.contains("cp.async")), Some(true));
    let shuffle = find("shfl");
    assert_eq!(shuffle.operands[0], Operand::Pair(Some(register(body, "%r5")), Some(register(body, "%p4"))));
    assert_eq!(shuffle.operands[2..], [16, 31, u64::MAX].map(Operand::Integer));
    let targets = &body.targets[0];
    assert_eq!(
        targets.1.iter().map(|label| &body.labels[label.0 as usize]).collect::<Vec<_>>(),
        ["$L__BB0_3", "$L__BB0_4"]
    );
    assert_eq!(find("brx").operands[1], Operand::Name("$L_brx_0".into()));
    assert_eq!(find("mbarrier").modifiers, ["try_wait", "parity", "shared::cta", "b64"]);
}

/// Returns a register of a body by its name.
fn register(body: &Body, name: &str) -> super::ast::RegisterId {
    let at = body.registers.iter().position(|register| register.name == name);
    super::ast::RegisterId(at.unwrap_or_else(|| panic!("no {name}")) as u32)
}

#[test]
fn a_nul_may_end_the_text() {
    assert_eq!(parse(&format!("{SAMPLE}\0")), parse(SAMPLE));
    assert!(parse(&format!("{SAMPLE}\0ret;")).is_err());
}

#[test]
fn errors_name_line_function_and_word() {
    let parse = |text: &str| parse(text).unwrap_err().to_string();
    let text = format!("{HEADER}.entry kernel()\n{{\n  ret;\n  .foo 12;\n}}");
    assert_eq!(parse(&text), "line 8, in kernel: `.foo` is not a known directive");
    assert_eq!(parse(&format!("{HEADER}\n.foo")), "line 6: `.foo` is not a known directive");
    assert_eq!(parse(&format!("{HEADER}.func f() {{ ret\n; add.u32 a, 1;\n}}")), "line 6, in f: `a` is not defined");
    assert_eq!(parse(&format!("{HEADER}.func f() {{ bra\nL; }}")), "line 6, in f: the label `L` is not defined");
    assert_eq!(parse(&format!("{HEADER}.func f() {{\n /* \n")), "line 6, in f: the comment has no end");
    assert_eq!(parse(""), "line 1: expected `.version`, found the end of the text");
}

/// Returns the next number of a pseudorandom sequence.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn no_mutation_panics() {
    let words: Vec<&str> = SAMPLE.split_inclusive(|c: char| !c.is_alphanumeric()).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut parsed = 0;
    for round in 0..4000 {
        let mut text = SAMPLE.to_string();
        for _ in 0..=round % 3 {
            let mut place = || {
                let mut at = next(&mut state) as usize % (text.len() + 1);
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                at
            };
            let (a, b) = (place(), place());
            let (from, to) = (a.min(b), a.max(b).min(a.min(b) + 40));
            let to = (to..=text.len()).find(|&to| text.is_char_boundary(to)).unwrap_or(text.len());
            let word = words[next(&mut state) as usize % words.len()];
            match next(&mut state) % 5 {
                0 => text.replace_range(from..to, ""),
                1 => text.insert_str(from, word),
                2 => text.replace_range(from..to, word),
                3 => text.truncate(to),
                _ => {
                    let signs = "{}()[]<>;:,.@!|%-+*/?&^~=\"_$0x9eUé\0\n";
                    let sign = signs.chars().nth(next(&mut state) as usize % signs.chars().count()).unwrap();
                    text.insert(from, sign);
                }
            }
        }
        // The message does not matter, but it names a line of the text.
        match parse(&text) {
            Ok(_) => parsed += 1,
            Err(error) => assert!(error.line as usize <= text.lines().count() + 1, "{error}"),
        }
    }
    assert!(
        (100..3900).contains(&parsed),
        "{parsed} of the texts were modules: they were changed too much, or not at all"
    );
}

#[test]
fn depth_is_limited() {
    assert_eq!(error(&"{".repeat(1_000_000)), "scopes are nested too deeply");
    assert_eq!(instructions(&body(&format!("{}ret;{}", "{".repeat(60), "}".repeat(60)))).count(), 1);
}
