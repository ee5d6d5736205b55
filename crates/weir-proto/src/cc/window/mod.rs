//! Window-based congestion control: the mechanism once, the policies small.
