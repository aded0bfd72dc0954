//! Tests the names of the functions.

use isobit_hal::*;
use std::fmt;

#[test]
fn names_and_positions_are_those_of_the_lists() {
    fn check<T: Copy + fmt::Display>(all: &[T], name: impl Fn(T) -> &'static str, index: impl Fn(T) -> usize) {
        for (i, &op) in all.iter().enumerate() {
            assert_eq!((index(op), op.to_string().as_str()), (i, name(op)));
            assert_eq!(all.iter().filter(|&&o| name(o) == name(op)).count(), 1);
        }
    }
    check(UnaryOp::ALL, UnaryOp::name, UnaryOp::index);
    check(BinaryOp::ALL, BinaryOp::name, BinaryOp::index);
    check(CmpOp::ALL, CmpOp::name, CmpOp::index);
    check(Predicate::ALL, Predicate::name, Predicate::index);
    check(ReduceOp::ALL, ReduceOp::name, ReduceOp::index);
    check(ScanOp::ALL, ScanOp::name, ScanOp::index);
    check(Activation::ALL, Activation::name, Activation::index);
    check(RopeForm::ALL, RopeForm::name, RopeForm::index);
}
