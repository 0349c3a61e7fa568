use super::*;

fn tags() -> Reasoning {
    Reasoning { marks: Marks::Tags { open: "<think>".into(), close: "</think>".into() }, budget: None }
}

fn harmony() -> Reasoning {
    Reasoning { marks: Marks::Harmony, budget: None }
}

/// Reply and reasoning of `text` after `prompt`, the same however the text is cut into pieces.
fn read(reasoning: Option<&Reasoning>, prompt: &str, text: &str) -> (Phase, String, Option<String>) {
    let read_by = |n_bytes: usize| {
        let mut phases = Phases::new(reasoning, prompt);
        for piece in text.as_bytes().chunks(n_bytes) {
            phases.push(piece);
        }
        let phase = phases.phase();
        let (reply, thoughts) = phases.into_parts();
        (phase, reply, thoughts.map(|thoughts| thoughts.text))
    };
    let whole = read_by(text.len().max(1));
    for n_bytes in 1..20 {
        assert_eq!(read_by(n_bytes), whole, "pieces of {n_bytes} bytes");
    }
    whole
}

fn parts(reasoning: &Reasoning, prompt: &str, text: &str) -> (String, Option<String>) {
    let (_, reply, thoughts) = read(Some(reasoning), prompt, text);
    (reply, thoughts)
}

fn some(reply: &str, thoughts: &str) -> (String, Option<String>) {
    (reply.into(), Some(thoughts.into()))
}

#[test]
fn without_reasoning_all_is_reply() {
    let text = "<think>no</think> yes";
    assert_eq!(read(None, "a", text), (Phase::Replying, text.into(), None));
}

#[test]
fn a_template_that_opens_the_reasoning() {
    for prompt in ["<|im_start|>assistant\n<think>\n", "<｜Assistant｜><think>"] {
        assert_eq!(
            parts(&tags(), prompt, "hm, 2 < 3 </thin k>\n</think>\n\n{\"a\":1}"),
            some("{\"a\":1}", "hm, 2 < 3 </thin k>")
        );
        assert_eq!(parts(&tags(), prompt, "</think>yes"), ("yes".into(), None), "empty thinking");
        assert_eq!(parts(&tags(), prompt, "<think>\nagain</think>yes"), some("yes", "again"));
    }
}

#[test]
fn a_template_that_closes_the_reasoning() {
    for prompt in ["assistant\n<think>\n\n</think>\n\n", "<｜Assistant｜></think>", "<|assistant|>\n<think></think>"] {
        assert_eq!(read(Some(&tags()), prompt, "").0, Phase::Replying);
        assert_eq!(parts(&tags(), prompt, " yes <think>"), (" yes <think>".into(), None));
    }
}

#[test]
fn a_model_that_decides_for_itself() {
    let prompt = "<think> in the report</think>]~b]ai\n";
    assert_eq!(parts(&tags(), prompt, "\n<think>\nwell</think>\nyes"), some("yes", "well"));
    assert_eq!(parts(&tags(), prompt, "yes </think>"), ("yes </think>".into(), None));
    assert_eq!(parts(&tags(), prompt, "<thi"), ("<thi".into(), None), "half a mark is reply");
    assert_eq!(parts(&tags(), prompt, "<thing>"), ("<thing>".into(), None));
    assert_eq!(parts(&tags(), prompt, " \n 1"), (" \n 1".into(), None));
    let space = " ".repeat(40) + "<think>";
    assert_eq!(parts(&tags(), prompt, &space), (space.clone(), None), "white space without end is no opening");
}

#[test]
fn a_held_reply_begins_with_what_is_no_opening() {
    let mut phases = Phases::new(Some(&tags()), "assistant\n");
    assert!(!phases.begins_reply(b"\n") && !phases.begins_reply(b"<think>\nso") && !phases.begins_reply(b"<th"));
    assert!(phases.begins_reply(b"{") && phases.begins_reply(b"<b") && phases.begins_reply("é".as_bytes()));
    phases.push(b"\n<th");
    assert!(phases.begins_reply(b"{"));
    phases.begin_reply();
    phases.push(b"{}");
    let (reply, thoughts) = phases.into_parts();
    assert_eq!((reply.as_str(), thoughts.expect("half a mark").text.as_str()), ("{}", "<th"));
}

#[test]
fn the_first_closing_mark_ends_the_reasoning() {
    assert_eq!(parts(&tags(), "<think>", "a <think> b </think> c </think> d"), some("c </think> d", "a <think> b"));
}

#[test]
fn what_ends_inside_its_reasoning_has_no_reply() {
    assert_eq!(read(Some(&tags()), "<think>", "still </thi"), (Phase::Thinking, String::new(), Some("still </thi".into())));
}

#[test]
fn characters_of_several_bytes_are_kept_whole() {
    assert_eq!(parts(&tags(), "<think>", "37,5 °C – ödem</think>“µmol”"), some("“µmol”", "37,5 °C – ödem"));
    let marks = Reasoning { marks: Marks::Tags { open: "◁think▷".into(), close: "◁/think▷".into() }, budget: None };
    assert_eq!(parts(&marks, "x", "◁think▷é◁/think▷ja"), some("ja", "é"));
    assert_eq!(parts(&marks, "x", "◁é"), ("◁é".into(), None));
}

#[test]
fn a_piece_may_hold_the_end_of_the_mark_and_more() {
    let mut phases = Phases::new(Some(&tags()), "<think>");
    phases.push(b"so </thi");
    assert_eq!(phases.closes_within(b"nk>{\""), Some(3));
    assert_eq!(phases.closes_within(b"nk>\n\n"), None, "white space after it is dropped");
    assert_eq!(phases.closes_within(b"nk"), None);
    assert_eq!(phases.closes_within(b"</think>x"), Some(8));
}

#[test]
fn cut_reasoning_is_closed_and_says_so() {
    let mut phases = Phases::new(Some(&tags()), "<think>");
    phases.push(b"on and on");
    phases.cut();
    let closing = phases.closing();
    assert_eq!(closing, "</think>");
    phases.push(closing.as_bytes());
    phases.push(b"yes");
    assert_eq!(phases.into_parts(), ("yes".into(), Some(Thoughts { text: "on and on".into(), was_cut: true })));
}

const TURN: &str = "<|start|>user<|message|>see <|start|>x<|end|><|start|>assistant";

#[test]
fn harmony_channels() {
    let text = "<|channel|>analysis<|message|>thin<|king<|end|><|start|>assistant<|channel|>final<|message|>yes";
    assert_eq!(parts(&harmony(), TURN, text), some("yes", "thin<|king"));
    assert_eq!(parts(&harmony(), TURN, "<|channel|>final<|message|> yes"), ("yes".into(), None), "no analysis");
    let constrained = "<|channel|>final <|constrain|>json<|message|>{}";
    assert_eq!(parts(&harmony(), TURN, constrained), ("{}".into(), None));
    let commentary = "<|channel|>commentary<|message|>first<|end|><|start|>assistant<|channel|>analysis<|message|>then<|end|>\
                      <|start|>assistant<|channel|>final<|message|>é";
    assert_eq!(parts(&harmony(), TURN, commentary), some("é", "first\nthen"));
    assert_eq!(parts(&harmony(), TURN, "<|channel|>finality<|message|>x"), some("", "x"));
    assert_eq!(parts(&harmony(), TURN, "<|message|>yes"), ("yes".into(), None), "a message without a channel");
}

#[test]
fn harmony_that_ends_in_its_analysis() {
    let (phase, reply, thoughts) = read(Some(&harmony()), TURN, "<|channel|>analysis<|message|>hm");
    assert_eq!((phase, reply.as_str(), thoughts.as_deref()), (Phase::Thinking, "", Some("hm")));
    let (phase, reply, _) = read(Some(&harmony()), TURN, "<|channel|>analysis<|message|>hm<|end|>");
    assert_eq!((phase, reply.as_str()), (Phase::Thinking, ""));
}

#[test]
fn a_template_may_choose_the_channel() {
    let prompt = format!("{TURN}<|channel|>final<|message|>");
    assert_eq!(parts(&harmony(), &prompt, "yes"), ("yes".into(), None));
    let prompt = format!("{TURN}<|channel|>analysis<|message|>");
    let text = "hm<|end|><|start|>assistant<|channel|>final<|message|>yes";
    assert_eq!(parts(&harmony(), &prompt, text), some("yes", "hm"));
}

#[test]
fn harmony_is_cut_wherever_it_is() {
    let full = "<|start|>assistant<|channel|>final<|message|>";
    for (text, closing) in [
        ("", "<|channel|>final<|message|>".to_string()),
        ("what the model wrote in place of a header", "<|channel|>final<|message|>".to_string()),
        ("<|channel|>final", "<|message|>".to_string()),
        ("<|channel|>fin", format!("<|message|><|end|>{full}")),
        ("<|channel|>", format!("<|message|><|end|>{full}")),
        ("<|channel|>analysis<|message|>hm", format!("<|end|>{full}")),
        ("<|channel|>analysis<|message|>hm<|end|>", full.to_string()),
        ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant", "<|channel|>final<|message|>".to_string()),
    ] {
        let mut phases = Phases::new(Some(&harmony()), TURN);
        phases.push(text.as_bytes());
        assert_eq!(phases.closing(), closing, "{text}");
        phases.cut();
        phases.push(closing.as_bytes());
        assert_eq!(phases.phase(), Phase::Replying, "{text}");
        phases.push(b"yes");
        assert_eq!(phases.into_parts().0, "yes", "{text}");
    }
}

#[test]
fn a_harmony_reply_ends_at_any_control_mark() {
    let mut phases = Phases::new(Some(&harmony()), TURN);
    assert!(!phases.ends_reply(b"<|end|>"), "not while it thinks");
    phases.push(b"<|channel|>final<|message|>yes");
    assert!(phases.ends_reply(b"<|end|>") && phases.ends_reply(b"<|start|>") && !phases.ends_reply(b"<|"));
    assert!(!Phases::new(Some(&tags()), "</think>").ends_reply(b"<|end|>"));
}

mod whole_replies {
    use super::*;
    use crate::engine::generate::{Finished, take_reasoning_off};
    use crate::store::{FinishReason, Origin};

    fn taken(
        reply: &str,
        finish: FinishReason,
        own: Option<&Reasoning>,
    ) -> (String, Option<String>, FinishReason, Option<String>) {
        let mut finished = Finished::of_text(reply.into(), finish, Origin::Imported);
        take_reasoning_off(&mut finished, own);
        (finished.reply, finished.reasoning.map(|thoughts| thoughts.text), finished.finish, finished.unnamed_mark)
    }

    fn card(text: &str) -> Reasoning {
        toml::from_str(text).expect("reasoning")
    }

    #[test]
    fn a_draft_in_the_reasoning_is_no_reply() {
        use FinishReason::{Length, NoReply, Stop};
        let some = |text: &str| Some(text.to_string());
        let draft = "<think>{\"a\":1}</think>{\"a\":2}";
        assert_eq!(taken(draft, Stop, None), ("{\"a\":2}".into(), some("{\"a\":1}"), Stop, some("<think>")));
        let tags = card("style = \"tags\"\nopen = \"<think>\"\nclose = \"</think>\"");
        assert_eq!(taken(draft, Stop, Some(&tags)).3, None, "the card names the mark");
        assert_eq!(taken("[THINK]a[/THINK]b", Stop, Some(&tags)), ("b".into(), some("a"), Stop, some("[THINK]")));
        assert_eq!(taken("<think>{\"a\":1}", Stop, None), (String::new(), some("{\"a\":1}"), NoReply, some("<think>")));
        assert_eq!(taken("<think>{\"a\":1}", Length, None).2, Length, "cut, as it was");
        assert_eq!(taken("{\"a\":1}", Stop, None), ("{\"a\":1}".into(), None, Stop, None));
        let deep = card("style = \"tags\"\nopen = \"<deep>\"\nclose = \"</deep>\"");
        assert_eq!(taken("thoughts </deep>b", Stop, Some(&deep)), ("b".into(), some("thoughts"), Stop, None));
    }

    #[test]
    fn harmony_with_its_marks_and_without() {
        let harmony = card("style = \"harmony\"");
        let marked = "<|channel|>analysis<|message|>{\"a\":1}<|end|><|start|>assistant<|channel|>final<|message|>{\"a\":2}";
        let (reply, thoughts, finish, unnamed) = taken(marked, FinishReason::Stop, Some(&harmony));
        assert_eq!((reply.as_str(), finish, unnamed), ("{\"a\":2}", FinishReason::Stop, None));
        assert!(thoughts.is_some_and(|text| text.contains("{\"a\":1}")));
        let bare = "analysisWe need {\"a\":1}.assistantfinal{\"a\":2}";
        assert_eq!(taken(bare, FinishReason::Stop, Some(&harmony)).0, "{\"a\":2}");
        assert_eq!(taken(bare, FinishReason::Stop, None).0, bare, "words alone are no marks");
    }
}
