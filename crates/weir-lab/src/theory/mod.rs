//! What theory says about a path: TFRC equation, Mathis and its relatives.
