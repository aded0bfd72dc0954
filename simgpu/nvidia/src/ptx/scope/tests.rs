//! Names of functions: which declaration shadows which, and which name belongs to which scope.

use super::super::tests::{body, error, instructions};
use super::*;

fn registers(operands: &[Operand]) -> Vec<u32> {
    operands
        .iter()
        .map(|operand| if let Operand::Register(id) = operand { id.0 } else { panic!("{operand:?}") })
        .collect()
}

#[test]
fn families_give_what_is_used() {
    let body =
        body(".reg .b32 %r<100000>, %r1_<3>, a1<2>; mov.b32 %r99999, %r7; mov.b32 %r7, %r99999; mov.b32 %r1_2, a10;");
    let names: Vec<_> = body.registers.iter().map(|register| register.name.as_str()).collect();
    assert_eq!(names, ["%r99999", "%r7", "%r1_2", "a10"]);
    let all: Vec<_> = instructions(&body).map(|inst| registers(&inst.operands)).collect();
    assert_eq!(all, [[0, 1], [1, 0], [2, 3]]);
    assert_eq!(error(".reg .b32 r<2>; mov.b32 r0, r2;"), "`r2` is not defined");
    assert_eq!(error(".reg .b32 r<2>; mov.b32 r0, r01;"), "`r01` is not defined");
}

#[test]
fn inner_scopes_shadow() {
    let body = body(
        ".reg .b32 a, r<2>; mov.b32 a, r1;
         { .reg .b64 a, r<2>; mov.b64 a, r1; { .reg .pred a; mov.pred a, a; } mov.b64 a, r1; }
         { .reg .b16 a; mov.b16 a, a; } mov.b32 a, r1;",
    );
    let bits: Vec<_> = body.registers.iter().map(|register| register.ty.bits).collect();
    assert_eq!(bits, [32, 32, 64, 64, 1, 16]);
    let all: Vec<_> = instructions(&body).map(|inst| registers(&inst.operands)).collect();
    assert_eq!(all, [[0, 1], [2, 3], [4, 4], [2, 3], [5, 5], [0, 1]]);
}

#[test]
fn variables_get_names_of_their_own() {
    let body = body(
        ".reg .b64 d; .shared .b32 x; mov.u64 d, x; { .shared .b64 x; mov.u64 d, x; } { .local .b8 x[3]; mov.u64 d, x; }
         .local .b32 outside; mov.u64 d, outside; mov.u64 d, x;",
    );
    let names: Vec<_> = body.variables.iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["x", "x#1", "x#2", "outside#1"]);
    let all: Vec<_> = instructions(&body).map(|inst| inst.operands[1].clone()).collect();
    assert_eq!(all, ["x", "x#1", "x#2", "outside#1", "x"].map(|name| Operand::Symbol(name.into(), 0)));
}

#[test]
fn labels_belong_to_scopes() {
    let body = body(
        "bra L; { bra L; { bra L; bra M; { bra M; } } L: bra L; } { bra M; L: } M: L:
         T: .branchtargets M, L;",
    );
    let mut branches = Vec::new();
    let mut places = Vec::new();
    for statement in &body.statements {
        match statement {
            Statement::Label(label) => places.push(label.0),
            Statement::Instruction(inst) => {
                let [Operand::Label(label)] = inst.operands[..] else { panic!("{inst:?}") };
                branches.push(label.0);
            }
        }
    }
    assert_eq!(body.labels.len(), 4);
    let [first, second, m, l] = places[..] else { panic!("{places:?}") };
    assert_eq!([first, second, m, l].map(|label| body.labels[label as usize].as_str()), ["L", "L", "M", "L"]);
    assert_eq!(branches, [l, first, first, m, m, first, m]);
    assert_eq!(body.targets, [("T".to_string(), vec![LabelId(m), LabelId(l)])]);
    assert_eq!(error("{ L: }\nbra L;\nret;"), "the label `L` is not defined");
    assert_eq!(error("L: { L: } L:"), "the label `L` is defined twice");
}

#[test]
fn vector_registers_have_components() {
    let body = body(
        ".reg .v4 .f32 v; .reg .v2 .b16 w<2>; mov.f32 v.x, v.w; mov.f32 v.r, v.a; mov.b16 w1.x, w1.y; ld.v4.f32 v, [0];",
    );
    let names: Vec<_> = body.registers.iter().map(|register| register.name.as_str()).collect();
    assert_eq!(names, ["v.x", "v.y", "v.z", "v.w", "w1.x", "w1.y"]);
    let all: Vec<_> = instructions(&body).take(3).map(|inst| registers(&inst.operands)).collect();
    assert_eq!(all, [[0, 3], [0, 3], [4, 5]]);
    let Operand::Vector(whole) = &instructions(&body).nth(3).unwrap().operands[0] else { panic!("{body:?}") };
    assert_eq!(registers(whole), [0, 1, 2, 3]);
    assert_eq!(error(".reg .v2 .b32 v; mov.b32 v.z, 0;"), "`.z` is not a part of `v`");
    assert_eq!(error(".reg .b32 r; vadd.s32 r, r.b0, r;"), "`.b0` is not a part of `r`");
}

#[test]
fn names_are_declared_once() {
    for declarations in
        [".reg .b32 a, a;", ".reg .b32 a; .reg .b64 a;", ".reg .b32 a<2>; .reg .b32 a<3>;", ".local .b32 a, a;"]
    {
        assert_eq!(error(declarations), "`a` is declared twice", "{declarations}");
    }
}
