//! The layouts of model families. The templates are written for these tests: each has its family's message layout and leans on the
//! same features of Jinja as the family's own.

use super::*;

fn switches(text: &str) -> BTreeMap<String, toml::Value> {
    toml::from_str(text).expect("switches")
}

fn render(template: &str, bos: &str, switch_text: &str, messages: &[Message]) -> Result<String, ChatError> {
    let template = ChatTemplate::new(template, bos, "</s>", &switches(switch_text)).expect("a valid template");
    Ok(template.render(messages, &[])?.concat())
}

fn laid_out(template: &str, bos: &str, switch_text: &str, messages: &[Message]) -> String {
    render(template, bos, switch_text, messages).expect("rendered")
}

fn user() -> Vec<Message> {
    vec![Message::user("What <x>?")]
}

/// A first try, its reply and what was wrong with it, as the pipelines ask again.
fn again() -> Vec<Message> {
    vec![Message::user("Q"), Message::assistant("<think>\nhm\n</think>\n\nA"), Message::user(" Again. ")]
}

fn with_system() -> Vec<Message> {
    vec![Message::system("Be brief."), Message::user("Q")]
}

/// ChatML with switchable thinking, as Qwen.
const CHATML: &str = r"{%- macro shown(content) -%}
    {%- if content is string -%}
        {{- content -}}
    {%- else -%}
        {%- for part in content -%}
            {%- if part is mapping and part.text is defined -%}{{- part.text -}}{%- endif -%}
        {%- endfor -%}
    {%- endif -%}
{%- endmacro -%}
{%- set ns = namespace(multi_step=true, last_query=messages|length - 1) %}
{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + shown(messages[0].content) | trim + '<|im_end|>\n' }}
{%- endif %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step and message.role == 'user' and not (message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step = false %}
        {%- set ns.last_query = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if (message.role == 'user') or (message.role == 'system' and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- elif message.role == 'assistant' %}
        {%- set reasoning = '' %}
        {%- set content = message.content %}
        {%- if message.reasoning_content is defined and message.reasoning_content is not none %}
            {%- set reasoning = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query and reasoning %}
            {{- '<|im_start|>assistant\n<think>\n' ~ reasoning ~ '\n</think>\n\n' ~ content }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- else %}
        {{- '<think>\n' }}
    {%- endif %}
{%- endif %}";

#[test]
fn chatml() {
    let open = "<|im_start|>assistant\n<think>\n";
    let closed = "<|im_start|>assistant\n<think>\n\n</think>\n\n";
    assert_eq!(laid_out(CHATML, "", "", &user()), format!("<|im_start|>user\nWhat <x>?<|im_end|>\n{open}"));
    assert_eq!(
        laid_out(CHATML, "", "enable_thinking = false", &with_system()),
        format!("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nQ<|im_end|>\n{closed}")
    );
    assert_eq!(
        laid_out(CHATML, "", "enable_thinking = true", &again()),
        format!(
            "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n<|im_start|>user\n Again. <|im_end|>\n{open}"
        )
    );
}

/// Headers and end-of-turn tokens, with a date in the system turn, as Llama 3.
const LLAMA: &str = r#"{{- bos_token }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{#- The first system message goes into the header. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content'] | trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\n\n" }}
{{- "Today Date: " + date_string + "\n\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {%- generation -%}
        {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' }}
        {%- endgeneration -%}
    {%- else %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}"#;

#[test]
fn llama_headers() {
    let head = |system: &str| {
        format!("<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nToday Date: 1 Jan 2026\n\n{system}<|eot_id|>")
    };
    let turn = |role: &str, text: &str| format!("<|start_header_id|>{role}<|end_header_id|>\n\n{text}<|eot_id|>");
    let ask = "<|start_header_id|>assistant<|end_header_id|>\n\n";
    let date = "date_string = \"1 Jan 2026\"";
    assert_eq!(laid_out(LLAMA, "<|begin_of_text|>", date, &with_system()), head("Be brief.") + &turn("user", "Q") + ask);
    let messages = [Message::user("Q"), Message::assistant(" A "), Message::user(" Again. ")];
    assert_eq!(
        laid_out(LLAMA, "<|begin_of_text|>", date, &messages),
        head("") + &turn("user", "Q") + &turn("assistant", "A") + &turn("user", "Again.") + ask
    );
    let error = render(LLAMA, "<|begin_of_text|>", "", &user()).expect_err("no date, no prompt").to_string();
    assert!(error.contains("date_string") && error.contains("%d %b %Y"), "{error}");
}

/// The model's role is called `model`, the system text stands before the first user turn, roles must alternate, as Gemma.
const GEMMA: &str = r"{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '

' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '

' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = '' -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = 'model' -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '
' + (first_user_prefix if loop.first else '') }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'text' -%}{{ item['text'] | trim }}{%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception('Invalid content type') }}
    {%- endif -%}
    {{ '<end_of_turn>
' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model
'}}
{%- endif -%}
";

#[test]
fn gemma_turns() {
    assert_eq!(
        laid_out(GEMMA, "<bos>", "", &with_system()),
        "<bos><start_of_turn>user\nBe brief.\n\nQ<end_of_turn>\n<start_of_turn>model\n"
    );
    let messages = [Message::user("Q"), Message::assistant("A "), Message::user(" Again.")];
    assert_eq!(
        laid_out(GEMMA, "<bos>", "", &messages),
        "<bos><start_of_turn>user\nQ<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n\
         <start_of_turn>user\nAgain.<end_of_turn>\n<start_of_turn>model\n"
    );
    let error = render(GEMMA, "<bos>", "", &[Message::assistant("A")]).expect_err("refused").to_string();
    assert!(error.contains("must alternate"), "{error}");
}

/// Instruction marks, a setting before the conversation, an end token after each reply, as Mistral.
const MISTRAL: &str = r#"{%- set today = strftime_now("%Y-%m-%d") if wants_date is defined and wants_date else none %}
{%- set reasoning_effort = reasoning_effort if reasoning_effort is defined else "none" %}
{%- if reasoning_effort not in ["none", "high"] %}
    {{- raise_exception('reasoning_effort must be "none" or "high"') }}
{%- endif %}
{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {{- '[SYSTEM_PROMPT]' ~ messages[0]['content'] }}
    {%- if today is not none %}{{- ' ' ~ today }}{%- endif %}
    {{- '[/SYSTEM_PROMPT]' }}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{{- '[MODEL_SETTINGS]' ~ {"reasoning_effort": reasoning_effort} | tojson ~ '[/MODEL_SETTINGS]' }}
{%- set ns = namespace(index=0) %}
{%- for message in loop_messages %}
    {%- if message['role'] not in ['user', 'assistant'] %}{%- continue %}{%- endif %}
    {%- if (message['role'] == 'user') != (ns.index % 2 == 0) %}
        {{- raise_exception('roles must alternate') }}
    {%- endif %}
    {%- set ns.index = ns.index + 1 %}
    {%- if message['role'] == 'user' %}
        {{- '[INST]' + message['content'] + '[/INST]' }}
    {%- else %}
        {{- message['content'] + eos_token }}
    {%- endif %}
{%- endfor %}"#;

#[test]
fn mistral_instructions() {
    let settings = |effort: &str| format!("[MODEL_SETTINGS]{{\"reasoning_effort\": \"{effort}\"}}[/MODEL_SETTINGS]");
    assert_eq!(laid_out(MISTRAL, "<s>", "", &user()), format!("<s>{}[INST]What <x>?[/INST]", settings("none")));
    let messages = [Message::system("S"), Message::user("Q"), Message::assistant("A"), Message::user("R")];
    assert_eq!(
        laid_out(MISTRAL, "<s>", "reasoning_effort = \"high\"", &messages),
        format!("<s>[SYSTEM_PROMPT]S[/SYSTEM_PROMPT]{}[INST]Q[/INST]A</s>[INST]R[/INST]", settings("high"))
    );
    assert_eq!(
        laid_out(MISTRAL, "<s>", "wants_date = true\ndate_string = \"2026-01-01\"", &with_system()),
        format!("<s>[SYSTEM_PROMPT]Be brief. 2026-01-01[/SYSTEM_PROMPT]{}[INST]Q[/INST]", settings("none"))
    );
    let error = render(MISTRAL, "<s>", "reasoning_effort = \"low\"", &user()).expect_err("refused").to_string();
    assert!(error.contains("\"none\" or \"high\""), "{error}");
}

/// Turns without line ends; the end of reasoning stands for no reasoning, as DeepSeek.
const DEEPSEEK: &str = r"{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}
{% if not thinking is defined %}{% set thinking = false %}{% endif %}
{% set ns = namespace(is_first=true, system_prompt='', is_last_user=false) %}
{%- for message in messages %}{%- if message['role'] == 'system' %}
{%- if ns.is_first %}{% set ns.system_prompt = ns.system_prompt + message['content'] %}{% set ns.is_first = false %}
{%- else %}{% set ns.system_prompt = ns.system_prompt + '\n\n' + message['content'] %}{%- endif %}
{%- endif %}{%- endfor %}
{{- bos_token }}{{ ns.system_prompt }}
{%- for message in messages %}
{%- if message['role'] == 'user' %}{%- set ns.is_last_user = true -%}{{'<｜User｜>' + message['content']}}{%- endif %}
{%- if message['role'] == 'assistant' %}
{%- if ns.is_last_user %}{{'<｜Assistant｜>'}}{%- if message['prefix'] is defined and message['prefix'] and thinking %}{{'<think>'}}{%- else %}{{'</think>'}}{%- endif %}{%- endif %}
{%- set ns.is_last_user = false -%}
{%- set content = message['content'] -%}
{%- if '</think>' in content %}{%- set content = content.split('</think>', 1)[1] -%}{%- endif %}
{{- content + '<｜end▁of▁sentence｜>'}}{%- endif %}
{%- endfor -%}
{%- if add_generation_prompt and ns.is_last_user %}{{'<｜Assistant｜>'}}{%- if not thinking %}{{'</think>'}}{%- else %}{{'<think>'}}{%- endif %}{% endif %}";

#[test]
fn deepseek_turns() {
    let bos = "<｜begin▁of▁sentence｜>";
    assert_eq!(laid_out(DEEPSEEK, bos, "", &user()), format!("{bos}<｜User｜>What <x>?<｜Assistant｜></think>"));
    assert_eq!(
        laid_out(DEEPSEEK, bos, "thinking = true", &with_system()),
        format!("{bos}Be brief.<｜User｜>Q<｜Assistant｜><think>")
    );
    assert_eq!(
        laid_out(DEEPSEEK, bos, "thinking = true", &again()),
        format!("{bos}<｜User｜>Q<｜Assistant｜></think>\n\nA<｜end▁of▁sentence｜><｜User｜> Again. <｜Assistant｜><think>")
    );
}

/// A fixed beginning, role marks without end marks, as GLM.
const GLM: &str = r"[gMASK]<sop>
{%- macro visible_text(content) -%}
    {%- if content is string -%}
        {{- content }}
    {%- elif content is iterable and content is not mapping -%}
        {%- for item in content -%}
            {%- if item is mapping and item.type == 'text' -%}{{- item.text }}{%- elif item is string -%}{{- item }}{%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{- content }}
    {%- endif -%}
{%- endmacro -%}
{%- set ns = namespace(last_user_index=-1) %}
{%- for m in messages %}
    {%- if m.role == 'user' %}{%- set ns.last_user_index = loop.index0 -%}{%- endif %}
{%- endfor %}
{%- for m in messages %}
{%- if m.role == 'user' -%}<|user|>{{ visible_text(m.content) }}
{%- elif m.role == 'assistant' -%}
<|assistant|>
{%- set reasoning_content = '' %}
{%- set content = visible_text(m.content) %}
{%- if '</think>' in content %}
    {%- set reasoning_content = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
    {%- set content = content.split('</think>')[-1].lstrip('\n') %}
{%- endif %}
{%- if ((clear_thinking is defined and not clear_thinking) or loop.index0 > ns.last_user_index) and reasoning_content -%}
{{ '<think>' + reasoning_content.strip() +  '</think>'}}
{%- else -%}
{{ '</think>' }}
{%- endif -%}
{%- if content.strip() -%}{{ content.strip() }}{%- endif -%}
{%- elif m.role == 'system' -%}<|system|>{{ visible_text(m.content) }}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    <|assistant|>{{- '</think>' if (enable_thinking is defined and not enable_thinking) else '<think>' -}}
{%- endif -%}";

#[test]
fn glm_turns() {
    assert_eq!(laid_out(GLM, "", "", &user()), "[gMASK]<sop><|user|>What <x>?<|assistant|><think>");
    assert_eq!(
        laid_out(GLM, "", "enable_thinking = false", &with_system()),
        "[gMASK]<sop><|system|>Be brief.<|user|>Q<|assistant|></think>"
    );
    assert_eq!(
        laid_out(GLM, "", "", &again()),
        "[gMASK]<sop><|user|>Q<|assistant|></think>A<|user|> Again. <|assistant|><think>"
    );
}

/// Brackets of its own and a default system text, as MiniMax.
const MINIMAX: &str = r"{%- set ns = namespace(last_user_index=-1) %}
{%- macro visible_text(content) -%}
    {%- if content is string -%}{{ content }}{%- elif content is none -%}{%- else -%}{%- for item in content -%}{{ item.text }}{%- endfor -%}{%- endif -%}
{%- endmacro -%}
{%- if messages and messages[0].role == 'system' -%}
    {%- set system_message = messages[0] -%}{%- set conversation = messages[1:] -%}
{%- else -%}
    {%- set system_message = none -%}{%- set conversation = messages -%}
{%- endif -%}
{%- for m in conversation %}{%- if m.role == 'user' %}{% set ns.last_user_index = loop.index0 -%}{%- endif %}{%- endfor %}
{{- ']~!b[' ~ ']~b]system' ~ '\n' }}
{{- visible_text(system_message.content) if system_message is not none else 'You are a helpful assistant.' }}
{{- '[e~[\n' }}
{%- for message in conversation -%}
    {%- if message.role == 'assistant' -%}
        {{- ']~b]ai' ~ '\n' }}
        {%- set content = visible_text(message.content) %}
        {%- if '</think>' in content %}{%- set content = content.split('</think>')[-1].strip('\n') %}{%- endif %}
        {{- content ~ '[e~[\n' }}
    {%- elif message.role == 'user' -%}
        {{- ']~b]user' ~ '\n' }}{{- visible_text(message.content) }}{{- '[e~[\n' }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{- ']~b]ai' ~ '\n' ~ '<think>' ~ '\n' }}
{%- endif -%}";

#[test]
fn minimax_turns() {
    let head = "]~!b[]~b]system\nYou are a helpful assistant.[e~[\n";
    assert_eq!(laid_out(MINIMAX, "", "", &user()), format!("{head}]~b]user\nWhat <x>?[e~[\n]~b]ai\n<think>\n"));
    assert_eq!(laid_out(MINIMAX, "", "", &with_system()), "]~!b[]~b]system\nBe brief.[e~[\n]~b]user\nQ[e~[\n]~b]ai\n<think>\n");
    assert_eq!(
        laid_out(MINIMAX, "", "", &again()),
        format!("{head}]~b]user\nQ[e~[\n]~b]ai\nA[e~[\n]~b]user\n Again. [e~[\n]~b]ai\n<think>\n")
    );
}

/// Messages with channels, a system message with date and effort, instructions of a developer, as GPT-OSS.
const HARMONY: &str = r##"{%- macro build_system_message() -%}
    {%- if model_identity is not defined %}
        {%- set model_identity = "You are a language model." %}
    {%- endif %}
    {{- model_identity + "\n" }}
    {{- "Current date: " + strftime_now("%Y-%m-%d") + "\n\n" }}
    {%- if reasoning_effort is not defined %}
        {%- set reasoning_effort = "medium" %}
    {%- endif %}
    {{- "Reasoning: " + reasoning_effort + "\n\n" }}
    {{- "# Valid channels: analysis, commentary, final." }}
{%- endmacro -%}
{{- "<|start|>system<|message|>" }}
{{- build_system_message() }}
{{- "<|end|>" }}
{%- if messages[0].role == "developer" or messages[0].role == "system" %}
    {%- set developer_message = messages[0].content %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set developer_message = "" %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if developer_message %}
    {{- "<|start|>developer<|message|># Instructions\n\n" ~ developer_message ~ "<|end|>" }}
{%- endif %}
{%- set last_tool_call = namespace(name=none) %}
{%- for message in loop_messages -%}
    {%- if message.role == 'assistant' -%}
        {%- if "thinking" in message and loop.last %}
            {{- "<|start|>assistant<|channel|>analysis<|message|>" + message.thinking + "<|end|>" }}
        {%- endif %}
        {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}
        {%- set last_tool_call.name = none %}
    {%- elif message.role == 'user' -%}
        {{- "<|start|>user<|message|>" + message.content + "<|end|>" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
<|start|>assistant
{%- endif -%}"##;

#[test]
fn harmony_messages() {
    let date = "date_string = \"2026-01-01\"";
    let head = |effort: &str| {
        format!(
            "<|start|>system<|message|>You are a language model.\nCurrent date: 2026-01-01\n\nReasoning: {effort}\n\n\
             # Valid channels: analysis, commentary, final.<|end|>"
        )
    };
    assert_eq!(
        laid_out(HARMONY, "", date, &user()),
        format!("{}<|start|>user<|message|>What <x>?<|end|><|start|>assistant", head("medium"))
    );
    assert_eq!(
        laid_out(HARMONY, "", &format!("{date}\nreasoning_effort = \"high\""), &with_system()),
        format!(
            "{}<|start|>developer<|message|># Instructions\n\nBe brief.<|end|><|start|>user<|message|>Q<|end|><|start|>assistant",
            head("high")
        )
    );
    let messages = [Message::user("Q"), Message::assistant("A"), Message::user("R")];
    assert_eq!(
        laid_out(HARMONY, "", date, &messages),
        format!(
            "{}<|start|>user<|message|>Q<|end|><|start|>assistant<|channel|>final<|message|>A<|end|>\
             <|start|>user<|message|>R<|end|><|start|>assistant",
            head("medium")
        )
    );
    let error = render(HARMONY, "", "", &user()).expect_err("no date").to_string();
    assert!(error.contains("%Y-%m-%d") && error.contains("date_string"), "{error}");
}

#[test]
fn json_is_written_as_python_writes_it() {
    let text = "{{ {'a': [1, true, none], 'b': 'é <x> & \\'y\\''} | tojson }}|{{ [1] | tojson(indent=2) }}|{{ 'é😀' | tojson(ensure_ascii=True) }}";
    assert_eq!(
        laid_out(text, "", "", &user()),
        "{\"a\": [1, true, null], \"b\": \"é <x> & 'y'\"}|[\n  1\n]|\"\\u00e9\\ud83d\\ude00\""
    );
}

#[test]
fn generation_blocks_keep_their_white_space_rules() {
    for (text, expected) in [
        ("a {% generation %} b {% endgeneration %} c", "a  b  c"),
        ("a {%- generation -%} b {%- endgeneration -%} c", "abc"),
        ("{% if true %}x{% endif %} {{ '{%' }}", "x {%"),
    ] {
        assert_eq!(laid_out(text, "", "", &user()), expected);
    }
}
