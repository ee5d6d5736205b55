//! Effects and their verdicts against values calculated by hand.

use super::*;
use crate::verdict::Verdict;

/// A measure whose preferred direction is `better`.
fn headline(better: Better) -> Headline {
    let of = HEADLINE.iter().find(|measure| measure.better == better);
    *of.expect("there is one of each")
}

/// An effect with these values of A and B.
fn effect(better: Better, a: &[f64], b: &[f64]) -> Effect {
    let sides = [a, b].map(|side| side.iter().copied().collect::<Sample>());
    Effect::paired("flow", "stream", headline(better), sides).expect("as many of B as of A")
}

/// Ten pairs whose |t| equals the mean: with differences of mean ± 3, five each, the deviation is
/// 3·√(10/9) and the standard error 3·√(10/9)/√10 = 1.
fn of_t(mean: f64) -> Effect {
    let difference = |pair| mean + if pair % 2 == 0 { 3.0 } else { -3.0 };
    let a = [100.0; 10];
    let b: Vec<f64> = (0..10).map(|pair| 100.0 + difference(pair)).collect();
    effect(Better::Higher, &a, &b)
}

fn judged(means: &[f64]) -> Vec<Verdict> {
    let mut effects: Vec<Effect> = means.iter().map(|&mean| of_t(mean)).collect();
    judge(&mut effects);
    effects.iter().map(|effect| effect.verdict).collect()
}

#[test]
fn one_measure_differs_beyond_the_quantile_of_the_error_of_one_percent() {
    // Student's t with 9 degrees of freedom: P(T <= 3.250) = 99.5 %.
    for (mean, verdict) in [
        (3.24, Verdict::Indistinct),
        (3.26, Verdict::Differs),
        (-3.24, Verdict::Indistinct),
        (-3.26, Verdict::Differs),
    ] {
        assert_eq!(judged(&[mean]), [verdict], "{mean}");
    }
}

#[test]
fn of_several_measures_each_is_tested_after_those_that_are_clearer() {
    // Holm, with two measures: the larger |t| is compared with P(T <= 3.690) = 99.75 %, and if it
    // exceeds that, the smaller one with 3.250.
    use Verdict::{Differs, Indistinct};
    for (means, verdicts) in [
        ([3.7, 3.3], [Differs, Differs]),
        ([3.3, -3.7], [Differs, Differs]),
        ([3.68, 3.3], [Indistinct, Indistinct]),
        ([3.7, 3.2], [Differs, Indistinct]),
        ([3.2, 3.7], [Indistinct, Differs]),
    ] {
        assert_eq!(judged(&means), verdicts, "{means:?}");
    }
}

#[test]
fn a_measure_that_is_equal_in_all_pairs_is_not_tested() {
    // If the equal measure were tested, there would be two tests, and 3.3 is below the first
    // quantile.
    let equal = effect(Better::Higher, &[1.0; 10], &[1.0; 10]);
    let mut effects = [equal, of_t(3.3)];
    judge(&mut effects);
    let verdicts = effects.map(|effect| effect.verdict);
    assert_eq!(verdicts, [Verdict::Equal, Verdict::Differs]);
}

#[test]
fn differences_that_cancel_out_are_differences() {
    let mut effects = [effect(Better::Higher, &[1.0, 2.0], &[2.0, 1.0])];
    judge(&mut effects);
    assert_eq!(effects[0].verdict, Verdict::Indistinct);
}

#[test]
fn a_difference_is_better_or_worse_as_the_measure_wants_it() {
    for (measure, b, word) in [
        (Better::Higher, 2.0, Some("better")),
        (Better::Higher, 0.5, Some("worse")),
        (Better::Lower, 2.0, Some("worse")),
        (Better::Lower, 1.5, Some("worse")),
        (Better::Lower, 0.5, Some("better")),
        (Better::Neither, 2.0, None),
        (Better::Higher, 1.0, None),
        (Better::Lower, 1.0, None),
    ] {
        let mut effects = [effect(measure, &[1.0], &[b])];
        judge(&mut effects);
        assert_eq!(effects[0].judgement(), word, "{measure:?} {b}");
    }
    assert_eq!(of_t(1.0).judgement(), None, "it has not been judged");
}

#[test]
fn a_share_is_one_of_the_size_of_a() {
    // From 4 to 5 is a quarter of 4; from -4 to -5 is -1, also a quarter of 4.
    for (a, b, relative) in [
        (4.0, 5.0, Some(0.25)),
        (4.0, 3.0, Some(-0.25)),
        (-4.0, -5.0, Some(-0.25)),
        (0.0, 5.0, None),
    ] {
        let mut effects = [effect(Better::Higher, &[a], &[b])];
        assert_eq!(effects[0].relative(), relative, "{a} {b}");
        assert!(!effects[0].exceeds(0.0), "it has not been judged");
        judge(&mut effects);
        assert!(effects[0].exceeds(0.2), "{a} {b}");
        assert_eq!(effects[0].exceeds(0.25), relative.is_none(), "{a} {b}");
    }
}

#[test]
fn each_verdict_has_its_words_and_two_of_them_tell_the_sides_apart() {
    for (verdict, words, differs) in [
        (Verdict::Equal, "equal", false),
        (Verdict::Indistinct, "within chance", false),
        (Verdict::Differs, "differs", true),
        (Verdict::OnePair, "differs in one pair", true),
    ] {
        let effect = Effect {
            verdict,
            ..of_t(1.0)
        };
        assert_eq!((verdict.words(), effect.differs()), (words, differs));
    }
}

#[test]
fn sides_of_different_numbers_of_runs_are_not_paired() {
    let sides = [vec![1.0, 2.0], vec![1.0]].map(Sample::from_iter);
    let found = Effect::paired("flow", "stream", headline(Better::Higher), sides);
    assert_eq!(found, None);
}
