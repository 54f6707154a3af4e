//! Words that any text may hold, by which nothing is found.

use std::collections::HashSet;
use std::sync::LazyLock;

const ENGLISH: &str = "a about after again all also am an and any are aren't as at be because been before being both but by \
    can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from further had \
    hadn't has hasn't have haven't having he he'd he'll her here hers herself him himself his how i i'd i'll i'm i've if \
    in into is isn't it it's its itself just let's me more most mustn't my myself no nor not of off on once only or other \
    ought our ours ourselves out over own same shan't she she'd she'll should shouldn't so some such than that the their \
    theirs them themselves then there these they they'd they'll they're they've this those through to too under until up \
    us very was wasn't we we'd we'll we're we've were weren't what when where which while who whom whose why will with \
    won't would wouldn't you you'd you'll you're you've your yours yourself yourselves";

const CHINESE: &str = "的 了 着 过 吗 呢 吧 啊 呀 嘛 哦 哪 哪里 哪儿 哪个 哪些 哪天 哪一 谁 什么 甚么 啥 怎么 怎样 怎么样 如何 \
    为什么 为何 是否 是不是 有没有 多少 几 几个 几时 何时 什么时候 时候 我 你 您 他 她 它 我们 你们 他们 她们 它们 咱们 咱 自己 \
    这 那 这个 那个 这些 那些 这里 那里 这样 那样 是 有 在 和 与 跟 及 或 或者 还是 还 也 都 就 才 又 再 很 太 更 最 不 没 没有 \
    把 被 让 给 对 对于 关于 从 到 向 往 由 以 为 为了 于 而 而且 但 但是 因为 所以 如果 的话 可以 能 能够 会 要 想 应该 \
    一个 一些 一下 一 个 些 叫 叫做 曾 曾经 已经 之 其 所 等 地 得 请 请问 说 吗 么 上 下 里 中 内 外 时";

static STOP_WORDS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| ENGLISH.split_whitespace().chain(CHINESE.split_whitespace()).collect());

/// Whether a word, folded, says nothing about what a text is about: articles, pronouns, question words, particles.
#[must_use]
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(word)
}
