// SPDX-License-Identifier: Apache-2.0
#include "core/engine/question/fields.h"

#include "core/base/bytesize.h"
#include "core/formats/insidefolder.h"
#include "core/lrp/composite/ruleoverride.h"
#include "core/trace/documentrun.h"
#include "core/trace/targetplace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>

namespace retro::engine
{

using base::Result;
using formats::ModelCard;

namespace
{

constexpr std::string_view kNoNumbers = "none";
constexpr std::uint32_t kModelVerbs = kInfo | kRun | kGrad | kVerify | kExplain | kEvaluate | kPlanning | kDiagnose;
constexpr std::uint32_t kInputVerbs = kRun | kGrad | kVerify | kExplain | kEvaluate | kDiagnose | kPlanning;
constexpr std::uint32_t kTextVerbs = kGrad | kVerify | kExplain | kEvaluate | kDiagnose | kPlanning;
constexpr std::uint32_t kPassVerbs = kGrad | kExplain;

// Checks of single texts.

/// A number from Least/Parts to Most/Parts.
template <int Least, int Most, int Parts = 1>
Result<void> checkNumber(const std::string& text)
{
    constexpr double kLeast = static_cast<double>(Least) / Parts;
    constexpr double kMost = static_cast<double>(Most) / Parts;
    RETRO_TRY(const double number, readNumber(text));
    return number >= kLeast && number <= kMost
               ? Result<void>()
               : base::usageError(fmt::format("write a number from {} to {}", kLeast, kMost));
}

Result<void> checkAnyNumber(const std::string& text)
{
    RETRO_CHECK(readNumbers(std::span(&text, 1)));
    return {};
}

Result<void> checkPositive(const std::string& text)
{
    RETRO_TRY(const double number, readNumber(text));
    return number > 0 ? Result<void>() : base::usageError("write a number above 0");
}

/// What pixels are divided by: above 0, or "none".
Result<void> checkDeviation(const std::string& text)
{
    RETRO_TRY(const std::vector<double> read, readNumbers(std::span(&text, 1)));
    return std::ranges::all_of(read, [](double number) { return number > 0; })
               ? Result<void>()
               : base::usageError("pixels are divided by it; write numbers above 0");
}

Result<void> checkFrame(const std::string& text)
{
    return formats::isFrame(text) ? Result<void>() : base::usageError(fmt::format("write {}", formats::kFrames));
}

/// An empty text is a question that was not written down, and no question that was not asked.
Result<void> checkSaid(const std::string& text)
{
    return !text.empty() ? Result<void>()
                         : base::usageError("write what is meant; leave the option out to ask nothing");
}

Result<void> checkCount(const std::string& text)
{
    std::uint64_t count = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, count);
    return read.ec == std::errc() && read.ptr == end ? Result<void>()
                                                     : base::usageError("write a whole number, 0 or more");
}

Result<void> checkPlace(const std::string& text)
{
    std::int64_t place = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, place);
    return read.ec == std::errc() && read.ptr == end
               ? Result<void>()
               : base::usageError("write a whole number: 0 is the first token, -1 the last one");
}

Result<void> checkPlaces(const std::string& text)
{
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    bool areGood = at < end;
    while (areGood && at < end) {
        std::int64_t place = 0;
        const auto read = std::from_chars(at, end, place);
        const bool isLast = read.ptr == end;
        areGood = read.ec == std::errc() && (isLast || (*read.ptr == ',' && read.ptr + 1 < end));
        at = isLast ? end : read.ptr + 1;
    }
    return areGood ? Result<void>() : base::usageError("write places of tokens with commas between: 3,7,-1");
}

Result<void> checkLayers(const std::string& text)
{
    const bool areNumbers = !text.empty() && text.find_first_not_of("0123456789,") == std::string::npos &&
                            text.front() != ',' && text.back() != ',' && text.find(",,") == std::string::npos;
    return text == "all" || areNumbers ? Result<void>()
                                       : base::usageError("write all, or numbers of layers with commas between: 0,3");
}

Result<void> checkBytes(const std::string& text)
{
    RETRO_TRY(const std::uint64_t bytes, base::parseBytes(text));
    return bytes > 0 ? Result<void>() : base::usageError("write at least one byte");
}

// Where a card keeps a field.

template <auto Entry>
CardEntry cardText(bool fillsIn = true)
{
    return {[](const ModelCard& card) {
                return (card.*Entry).empty() ? std::vector<std::string>() : std::vector<std::string>{card.*Entry};
            },
            [](std::span<const std::string> texts, ModelCard& card) {
                card.*Entry = texts.empty() ? std::string() : texts.front();
            },
            fillsIn};
}

/// The composite of a card with a file from the card's folder, as it is opened.
std::string openedComposite(const ModelCard& card)
{
    lrp::Specification named = lrp::splitSpecification(card.composite);
    if (card.file.empty() || !named.base.ends_with(".json")) {
        return card.composite;
    }
    named.base = (card.file.parent_path() / named.base).string();
    return lrp::joinSpecification(named);
}

/// As it is written in the card: a file in the folder of the card, or below it, is named from there.
std::string keptComposite(const std::string& text, const ModelCard& card)
{
    lrp::Specification named = lrp::splitSpecification(text);
    if (card.file.empty() || !named.base.ends_with(".json")) {
        return text;
    }
    const std::filesystem::path folder = std::filesystem::absolute(card.file.parent_path()).lexically_normal();
    const std::filesystem::path file = std::filesystem::absolute(named.base).lexically_normal();
    const std::filesystem::path inFolder = file.lexically_relative(folder);
    const bool isOutside = inFolder.empty() || formats::leavesFolder(inFolder); // saveCardChoices() refuses it
    named.base = (isOutside ? file : inFolder).string();
    return lrp::joinSpecification(named);
}

CardEntry cardComposite()
{
    return {[](const ModelCard& card) {
                return card.composite.empty() ? std::vector<std::string>() : std::vector{openedComposite(card)};
            },
            [](std::span<const std::string> texts, ModelCard& card) {
                card.composite = texts.empty() ? std::string() : keptComposite(texts.front(), card);
            }};
}

template <auto Entry>
CardEntry cardList(bool fillsIn)
{
    return {
        [](const ModelCard& card) { return card.*Entry; },
        [](std::span<const std::string> texts, ModelCard& card) { (card.*Entry).assign(texts.begin(), texts.end()); },
        fillsIn};
}

template <auto Entry>
CardEntry cardSwitch(bool fillsIn)
{
    return {
        [](const ModelCard& card) { return card.*Entry ? std::vector<std::string>{"on"} : std::vector<std::string>(); },
        [](std::span<const std::string> texts, ModelCard& card) { card.*Entry = !texts.empty(); }, fillsIn};
}

template <auto Entry>
CardEntry cardNumbers()
{
    return {[](const ModelCard& card) { return writtenNumbers(card.*Entry); },
            [](std::span<const std::string> texts, ModelCard& card) {
                if (const auto numbers = readNumbers(texts)) {
                    card.*Entry = *numbers;
                }
            }};
}

CardEntry cardScale()
{
    return {[](const ModelCard& card) { return writtenNumbers(card.scale); },
            [](std::span<const std::string> texts, ModelCard& card) {
                if (const auto numbers = readNumbers(texts); numbers && numbers->size() == 2) {
                    card.scale = {numbers->front(), numbers->back()};
                }
            }};
}

const std::vector<QuestionField>& table()
{
    using Q = Question;
    static const std::vector<QuestionField> fields{
        // The model, as it is read.
        {.name = "shape",
         .member = &Q::shapes,
         .verbs = kModelVerbs | kWindow,
         .help = "NAME=2x3x48x192: extents of an input whose axes are free (? leaves one as it is); NAME= may be left "
                 "out with one input",
         .title = "Shape",
         .tip = "Extents of axes that the model leaves free: 1x3x48x192; of several inputs NAME=1x3x48x192 each. ? "
                "leaves an axis as it is",
         .key = KeyPart::None},
        {.name = "no-weights",
         .member = &Q::noWeights,
         .verbs = kModelVerbs | kWindow,
         .help = "Leave weights in the file: for a graph that is only to be looked at or planned for",
         .key = KeyPart::None},
        {.name = "no-fold",
         .member = &Q::noFold,
         .verbs = kModelVerbs,
         .help = "Do not fold constants",
         .key = KeyPart::None},
        {.name = "no-merge-batchnorm",
         .member = &Q::noMergeBatchNorm,
         .verbs = kModelVerbs,
         .help = "Do not merge BatchNormalization into the layer before it",
         .key = KeyPart::None},
        {.name = "no-rewrite",
         .member = &Q::noRewrite,
         .verbs = kModelVerbs,
         .help = "Do not apply this rewrite (docs/rewrites.md); all for none at all",
         .card = cardList<&ModelCard::noRewrite>(false),
         .key = KeyPart::None},
        {.name = "rewrite",
         .member = &Q::rewrite,
         .verbs = kModelVerbs,
         .help = "Apply this optional rewrite as well (docs/rewrites.md); all for every one",
         .card = cardList<&ModelCard::rewrite>(false),
         .key = KeyPart::None},
        {.name = "pass-through",
         .member = &Q::passThrough,
         .verbs = kModelVerbs,
         .help = "Operators that are not implemented hand their first operand on, in values and in relevance: NOT "
                 "what the model means, and not conserved; each is named as a warning",
         .key = KeyPart::None},
        {.name = "lut-path",
         .member = &Q::lutPath,
         .verbs = kExplain,
         .help = "fused or documented: how LUT layers run (default: as the model says); documented: every stage as a "
                 "kernel, every array as a buffer",
         .choices = {{"fused"}, {"documented"}}},
        {.name = "lut-backend",
         .member = &Q::lutBackend,
         .verbs = kRun | kGrad | kExplain,
         .help = "Where LUT layers run: cpu (default), cuda, or auto: on a GPU where there is one and the run is in "
                 "float32; the same rows are chosen, other numbers differ in their last bits",
         .choices = {{"cpu", "the processor"}, {"cuda", "the GPU"}, {"auto", "the GPU where there is one"}},
         .usual = "cpu",
         .title = "LUT layers",
         .tip = "Where LUT layers run; the same rows are chosen, other numbers differ in their last bits"},
        // Its inputs.
        {.name = "input",
         .member = &Q::inputs,
         .verbs = kInputVerbs | kWindow,
         .help = "NAME=FILE (.npy, .npz, .pb, .txt, a picture), zeros, or random:SEED; NAME= may be left out with one "
                 "input",
         .title = "Data",
         .tip = "What the model is given",
         .key = KeyPart::None},
        {.name = "mean",
         .member = &Q::mean,
         .verbs = kInputVerbs,
         .help = "Per channel, for pictures; replaces the card's",
         .check = checkAnyNumber,
         .takesSeveral = true,
         .separator = ',',
         .card = cardNumbers<&ModelCard::mean>()},
        {.name = "std",
         .member = &Q::deviation,
         .verbs = kInputVerbs,
         .help = "Per channel, for pictures; replaces the card's",
         .check = checkDeviation,
         .takesSeveral = true,
         .separator = ',',
         .card = cardNumbers<&ModelCard::deviation>()},
        {.name = "layout",
         .member = &Q::layout,
         .verbs = kInputVerbs,
         .help = "NCHW or NHWC, for pictures",
         .choices = {{"NCHW"}, {"NHWC"}},
         .card = cardText<&ModelCard::layout>()},
        {.name = "channels",
         .member = &Q::channels,
         .verbs = kInputVerbs,
         .help = "RGB, BGR or GRAY, for pictures; replaces the card's",
         .choices = {{"RGB"}, {"BGR"}, {"GRAY"}},
         .card = cardText<&ModelCard::channels>()},
        {.name = "scale",
         .member = &Q::scale,
         .verbs = kInputVerbs,
         .help = "Numbers that pixel values 0 and 255 become before mean and std, for pictures; replaces the card's",
         .check = checkAnyNumber,
         .takesSeveral = true,
         .separator = ',',
         .card = cardScale()},
        {.name = "pixels",
         .member = &Q::pixels,
         .verbs = kInputVerbs,
         .help = "shown (default: a picture as browsers show it, turned by its EXIF orientation, transparent parts on "
                 "white) or stored (as it lies in its file, transparency left out)",
         .choices = {{"shown"}, {"stored"}},
         .usual = "shown"},
        {.name = "frame",
         .member = &Q::frame,
         .verbs = kInputVerbs,
         .help = "How a picture of other sides fills the input: stretch (default), crop (its middle), crop=0.875 (224 "
                 "of 256 pixels of that), or letterbox (black bars); replaces the card's",
         .check = checkFrame,
         .card = cardText<&ModelCard::frame>()},
        // Its text.
        {.name = "text",
         .member = &Q::text,
         .verbs = kTextVerbs | kWindow,
         .help = "What a language model reads; --tokenizer makes tokens of it (docs/language.md)",
         .check = checkSaid,
         .title = "Text",
         .tip = "What the model reads; its tokenizer makes tokens of it",
         .isOfTexts = true,
         .isLong = true},
        {.name = "tokenizer",
         .member = &Q::tokenizer,
         .verbs = kTextVerbs | kWindow,
         .help = "tokenizer.json (default: the one beside the model)",
         .check = checkSaid,
         .title = "Tokenizer",
         .tip = "The tokenizer.json that makes tokens of the text; empty: the one beside the model",
         .key = KeyPart::Content,
         .isOfTexts = true},
        {.name = "ids",
         .member = &Q::ids,
         .verbs = kTextVerbs | kWindow,
         .help = "1,2,3: the numbers of the tokens, in place of --text",
         .check = checkSaid,
         .title = "Ids",
         .tip = "Numbers of tokens, 1,2,3, in place of a text",
         .isOfTexts = true},
        {.name = "position",
         .member = &Q::position,
         .verbs = kTextVerbs | kWindow,
         .help = "Of a language model: at which token the next word is asked for; negative from the end (default -1)",
         .check = checkPlace,
         .title = "Position",
         .tip = "The token behind which the next word is asked for: 0 is the first, -1 the last",
         .isOfTexts = true},
        {.name = "positions",
         .member = &Q::positions,
         .verbs = kExplain,
         .help = "3,7,-1: the question at each of these positions, over one forward pass; all that is of one position "
                 "is of the first",
         .check = checkPlaces},
        {.name = "contrast",
         .member = &Q::contrast,
         .verbs = kExplain | kEvaluate | kDiagnose | kWindow,
         .help = "Why the target and not this word (or number of a token); again for more: their mean",
         .check = checkSaid,
         .title = "Instead of",
         .tip = "Why the target and not this word, as it stands inside a text (\" London\"), or the number of a token",
         .isOfTexts = true},
        {.name = "target-tokens",
         .member = &Q::targetTokens,
         .verbs = kTextVerbs,
         .help = "Of a word that is several tokens, explain the first; without it such a word is refused",
         .title = "First token",
         .tip = "Of a word that is several tokens, explain the first; without it such a word is refused",
         .isOfTexts = true},
        {.name = "generate",
         .member = &Q::generate,
         .verbs = kExplain | kWindow,
         .help = "Go on with so many words, the best one each, and explain each of them",
         .check = checkNumber<1, 4096>,
         .title = "Generate",
         .tip = "Go on with so many words, the best one each, and explain each of them",
         .isOfTexts = true},
        {.name = "continue",
         .member = &Q::continuation,
         .verbs = kExplain,
         .help = "Go on with this text and explain each of its tokens"},
        {.name = "layers",
         .member = &Q::layers,
         .verbs = kExplain,
         .help = "File that names the residual stream and the heads of each layer, where they are not found "
                 "(docs/language.md)",
         .key = KeyPart::Content},
        {.name = "attention",
         .member = &Q::attention,
         .verbs = kExplain,
         .help = "all, or numbers of layers (0,3): also how much relevance each token handed to each through their "
                 "attention: DIR/links.csv, DIR/attention/<layer>.npy",
         .check = checkLayers},
        {.name = "html",
         .member = &Q::html,
         .verbs = kExplain,
         .help = "Also write the words with their relevance as one page",
         .key = KeyPart::FileName,
         .output = "the page"},
        // What is explained.
        {.name = "target",
         .member = &Q::targets,
         .verbs = kExplain | kWindow,
         .help = "argmax, a class index, or VALUE[:i,j,…] (default: the card's, else argmax); several: relevance "
                 "starts at each. Of a language model a word or the number of a token, at --position",
         .usual = "argmax",
         .title = "Target",
         .tip = "The class whose score is explained, or any value of the model",
         .card = cardText<&ModelCard::target>()},
        {.name = "target",
         .member = &Q::targets,
         .verbs = kGrad | kVerify | kEvaluate | kDiagnose,
         .help = "argmax, a class index, or VALUE[:i,j,…] (default: the card's, else argmax)",
         .usual = "argmax",
         .card = cardText<&ModelCard::target>()},
        {.name = "start",
         .member = &Q::start,
         .verbs = kExplain | kEvaluate | kDiagnose | kPlanning,
         .help = "auto (default: one for rules of gradients, else logit), logit, one, all, contrastive, or a .npy file "
                 "of the target's shape",
         .choices = {{"auto", "as usual for the rules"},
                     {"logit", "class score (logit)"},
                     {"one", "one"},
                     {"contrastive", "against the others"},
                     {"all", "the whole output"}},
         .isOpen = true,
         .usual = "auto",
         .title = "Start",
         .tip = "The relevance that the target starts with; as usual: one for rules of gradients, else the class score",
         .fact = &trace::RunFacts::start,
         .key = KeyPart::Content},
        {.name = "composite",
         .member = &Q::composite,
         .verbs = kExplain | kVerify | kEvaluate | kPlanning | kWindow | kDiagnose,
         .help = "Built-in name[:key=value,…], a .json file, or auto (default: the card's, else auto)",
         .usual = "auto",
         .title = "Rules",
         .tip = "Which rule each layer follows",
         .card = cardComposite(),
         .fact = &trace::RunFacts::composite,
         .key = KeyPart::Content},
        {.name = "rule",
         .member = &Q::rules,
         .verbs = kExplain | kDiagnose | kPlanning,
         .help = "MATCHER=RULE[:key=value,…] put before the composite: op:Conv=gamma:gamma=0.1, name:/head/*=stop, "
                 "scope:features=z-plus (docs/composites.md)"},
        {.name = "checkpoint",
         .member = &Q::checkpoints,
         .verbs = kExplain,
         .help = "Values whose relevance is also written to DIR/checkpoints/<value name>.npy when it is final",
         .takesSeveral = true,
         .card = cardList<&ModelCard::checkpoints>(false)},
        {.name = "stop-at-checkpoints",
         .member = &Q::stopAtCheckpoints,
         .verbs = kExplain,
         .help = "End when all checkpoints have been taken",
         .card = cardSwitch<&ModelCard::stopsAtCheckpoints>(false)},
        {.name = "region",
         .member = &Q::region,
         .verbs = kExplain | kPlanning,
         .help = "INPUT=MASK.npy: also how much of every element's relevance ends in this region: DIR/region",
         .check = checkSaid,
         .takesSeveral = true,
         .group = "region-of",
         .key = KeyPart::Content},
        {.name = "region-box",
         .member = &Q::regionBox,
         .verbs = kExplain | kPlanning,
         .help = "y0:y1,x0:x1 of the input that carries relevance, the ends excluded: the region",
         .check = checkSaid,
         .group = "region-of"},
        {.name = "region-tokens",
         .member = &Q::regionTokens,
         .verbs = kExplain | kPlanning,
         .help = "Positions of tokens, 2-4,7: the region",
         .check = checkSaid,
         .group = "region-of"},
        {.name = "condition",
         .member = &Q::conditions,
         .verbs = kExplain | kPlanning,
         .help = "VALUE:axis=1:3,7 or VALUE:mask=FILE.npy: only the relevance that passes there, again for more",
         .check = checkSaid,
         .takesSeveral = true,
         .key = KeyPart::Content},
        {.name = "condition-form",
         .member = &Q::conditionForm,
         .verbs = kExplain | kPlanning,
         .help = "only: relevance starts again at the value; beside: what goes round the value stays",
         .choices = {{"only"}, {"beside"}},
         .usual = "only"},
        {.name = "from",
         .member = &Q::from,
         .verbs = kGrad | kPlanning,
         .help = "Floating input that gets a gradient, again for more (default: every one)"},
        // How.
        {.name = "precision",
         .member = &Q::precision,
         .verbs = 0, // every verb has it
         .help = "auto, float or double",
         .choices = {{"auto"}, {"float"}, {"double"}},
         .key = KeyPart::None}, // as what it becomes
        {.name = "engine",
         .member = &Q::engine,
         .verbs = kExplain,
         .help = "promise (default), compiled (its program, docs/program.md) or oracle",
         .choices = {{"promise"}, {"compiled"}, {"oracle"}},
         .usual = "promise",
         .fact = &trace::RunFacts::engine},
        {.name = "traversal",
         .member = &Q::traversal,
         .verbs = kExplain,
         .help = "ours (default) or document: the steps as the source document has them, with the same relevance "
                 "(docs/traversal.md)",
         .choices = {{"ours", "ours"}, {"document", "as the document has it"}},
         .usual = "ours",
         .title = "Traversal",
         .tip = "In which order nodes are visited and promises linked; the relevance is the same"},
        {.name = "save",
         .member = &Q::save,
         .verbs = kExplain,
         .help = "inputs (default: what each gradient reads), frozen (what gradients of the inputs alone read) or all",
         .choices = {{"inputs"}, {"frozen"}, {"all"}},
         .usual = "inputs"},
        {.name = "plan",
         .member = &Q::plan,
         .verbs = kPassVerbs,
         .help = "Run by this plan (docs/formats/plan.md) of the target's joint graph",
         .group = "planned",
         .key = KeyPart::Content},
        {.name = "budget",
         .member = &Q::budget,
         .verbs = kPassVerbs,
         .help = "Run within so many bytes (4096, 8GB, 1.5GiB), or P% of the store-all peak: results of operators, "
                 "inputs and initializers left out",
         .group = "planned"},
        {.name = "strategy",
         .member = &Q::strategy,
         .verbs = kPassVerbs,
         .help = "How the plan is made: fast (default), best, or a planner (`plan --strategy list`)",
         .group = "planned"},
        {.name = "plan-order",
         .member = &Q::planOrder,
         .verbs = kPassVerbs,
         .help = "Order of the forward operators in the plan, as `analyze` names it (default auto: the best ones)",
         .usual = "auto"},
        {.name = "plan-seconds",
         .member = &Q::planSeconds,
         .verbs = kPassVerbs,
         .help = "Time limit for making the plan (default 10)",
         .check = checkNumber<1, 8'640'000, 100>,
         .usual = "10"},
        {.name = "tier",
         .member = &Q::tier,
         .verbs = kPassVerbs,
         .help = "NAME=BYTES: a plan that is made may move values to this place (memory, compressed, disk), with so "
                 "many bytes per second both ways, such as disk=500MB"},
        {.name = "seconds-per-cost",
         .member = &Q::secondsPerCost,
         .verbs = kPassVerbs,
         .help = "With --tier: seconds of one unit of cost (a floating-point operation; a millisecond where the graph "
                 "states them)",
         .check = checkPositive},
        {.name = "plan-rows",
         .member = &Q::planRows,
         .verbs = kPassVerbs,
         .help = "Steps of the plan to print, predicted against measured (default none)",
         .check = checkCount,
         .usual = "0",
         .key = KeyPart::None},
        {.name = "forward",
         .member = &Q::forward,
         .verbs = kPassVerbs,
         .help = "How forward values get to the rules that read them: store, rebuild, compress (signs and winners "
                 "where readers need no more), optimal (cheapest within --forward-budget)",
         .choices = {{"compress"}, {"optimal"}, {"rebuild"}, {"store"}},
         .group = "forwarded"},
        {.name = "forward-budget",
         .member = &Q::forwardBudget,
         .verbs = kPassVerbs,
         .help = "Bytes of the modelled peak, such as 500MB, for --forward optimal",
         .check = checkBytes,
         .group = "forwarded"},
        {.name = "forward-value",
         .member = &Q::forwardValues,
         .verbs = kPassVerbs,
         .help = "NAME=store, NAME=rebuild or NAME=compress, before the strategy",
         .group = "forwarded"},
        {.name = "checkpoint-every",
         .member = &Q::checkpointEvery,
         .verbs = kPassVerbs,
         .help = "Loop and Scan keep what they carry every so many iterations and are computed again from there; 0: "
                 "chosen, short loops are kept whole",
         .check = checkCount,
         .group = "forwarded",
         .title = "Loop checkpoints every",
         .tip = "Iterations after which Loop and Scan keep what they carry; the rest is computed again from there. 0: "
                "chosen, empty: everything is kept"},
        {.name = "go-on",
         .member = &Q::goOn,
         .verbs = kExplain,
         .help = "Do not stop at relevance that is NaN or infinite (docs/cli.md); the default names where it began"},
        {.name = "inputs-only",
         .member = &Q::inputsOnly,
         .verbs = kExplain,
         .help = "Only the relevance of the inputs, in less memory: everything else is freed on the way"},
        {.name = "parameters",
         .member = &Q::parameters,
         .verbs = kExplain,
         .help = "Also the relevance of weights, biases and other constants: DIR/relevance/<initializer>.npy"},
        {.name = "parameters",
         .member = &Q::parameters,
         .verbs = kGrad,
         .help = "Also the gradients of all floating initializers; the model runs without rewrites then"},
        // What else is to come out.
        {.name = "run",
         .member = &Q::run,
         .verbs = kExplain,
         .help = "Also record the run into this .retro file",
         .key = KeyPart::FileName,
         .output = "the run"},
        {.name = "run",
         .member = &Q::run,
         .verbs = kGrad,
         .help = "Record the gradient pass into this .retro file; the gradients are then those of that run",
         .key = KeyPart::FileName,
         .output = "the run"},
        {.name = "image",
         .member = &Q::image,
         .verbs = kExplain,
         .help = "Also draw the heatmap: .png, .svg or .pdf",
         .key = KeyPart::FileName,
         .output = "the heatmap"},
        {.name = "bits",
         .member = &Q::bits,
         .verbs = kExplain,
         .help = "Depth of the PNG: 8 (default, colours) or 16 (grey levels that stand for the numbers)",
         .choices = {{"8"}, {"16"}},
         .usual = "8"},
        {.name = "colormap",
         .member = &Q::colormap,
         .verbs = kExplain,
         .help = "relevance (default), gray, hot, bwr, coldnhot, seismic, …, or hex stops",
         .usual = "relevance"},
        {.name = "overlay",
         .member = &Q::overlay,
         .verbs = kExplain,
         .help = "Draw the heatmap over the input picture"},
        {.name = "open",
         .member = &Q::open,
         .verbs = kExplain,
         .help = "Also carry relevance through the members of this fused node (docs/rewrites.md); all for every one"},
        {.name = "check-oracle",
         .member = &Q::checkOracle,
         .verbs = kExplain,
         .help = "Also run the oracle, which saves every value, and compare all relevance bit for bit",
         .key = KeyPart::None},
        {.name = "graph-out",
         .member = &Q::graphOut,
         .verbs = kGrad | kExplain,
         .help =
             "Write the gradient (grad: .onnx, .json or .dot) or the forward and relevance pass (explain: .onnx) as "
             "one graph of standard operators instead; nothing runs",
         .key = KeyPart::None,
         .output = "the graph"},
        {.name = "profile",
         .member = &Q::profile,
         .verbs = kPassVerbs,
         .help = "Time, bytes and operations of every operator of the pass, and what became of its values",
         .key = KeyPart::None},
        {.name = "profile-rows",
         .member = &Q::profileRows,
         .verbs = kGrad,
         .help = "Operators to print, the most expensive first (default 12; --json has all)",
         .check = checkCount,
         .usual = "12",
         .key = KeyPart::None},
    };
    return fields;
}

} // namespace

std::span<const VerbName> verbNames()
{
    static constexpr std::array kNames{
        VerbName{kInfo, "info"},         VerbName{kRun, "run"},         VerbName{kGrad, "grad"},
        VerbName{kVerify, "verify"},     VerbName{kExplain, "explain"}, VerbName{kEvaluate, "evaluate"},
        VerbName{kPlanning, "planning"}, VerbName{kWindow, "window"},   VerbName{kDiagnose, "diagnose"}};
    return kNames;
}

std::span<const QuestionField> questionFields() { return table(); }

std::string_view sectionOf(const QuestionField& field)
{
    /// The field with which each begins.
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kSections{
        {{"shape", "Model"},
         {"input", "Input"},
         {"text", "Text"},
         {"target", "Question"},
         {"composite", "Rules"},
         {"checkpoint", "Inside the model"},
         {"engine", "Engine and memory"},
         {"go-on", "Output"}}};
    std::string_view title;
    for (const QuestionField& one : table()) {
        const auto* begun = std::ranges::find(kSections, one.name, [](const auto& section) { return section.first; });
        title = begun != kSections.end() ? begun->second : title;
        if (&one == &field) {
            break;
        }
    }
    return title;
}

const QuestionField& questionField(std::string_view name, std::uint32_t verbs)
{
    const auto found = std::ranges::find_if(table(), [&](const QuestionField& field) {
        return field.name == name && (verbs == 0 || (field.verbs & verbs) != 0);
    });
    return found == table().end() ? table().front() : *found;
}

std::vector<std::string> textsOf(const QuestionField& field, const Question& question)
{
    return std::visit(
        [&](auto member) -> std::vector<std::string> {
            const auto& value = question.*member;
            if constexpr (std::is_same_v<decltype(member), std::vector<std::string> Question::*>) {
                return value;
            } else if constexpr (std::is_same_v<decltype(member), bool Question::*>) {
                return value ? std::vector<std::string>{"on"} : std::vector<std::string>();
            } else {
                return value.empty() ? std::vector<std::string>() : std::vector<std::string>{value};
            }
        },
        field.member);
}

Result<void> checkText(const QuestionField& field, const std::string& text)
{
    const auto isText = [&](const FieldChoice& choice) { return choice.text == text; };
    if (!field.choices.empty() && !field.isOpen && std::ranges::none_of(field.choices, isText)) {
        std::vector<std::string_view> known;
        std::ranges::transform(field.choices, std::back_inserter(known), &FieldChoice::text);
        return base::usageError(fmt::format("\"{}\" is none of {}", text, fmt::join(known, ", ")));
    }
    return field.check != nullptr ? field.check(text) : Result<void>();
}

void setTexts(const QuestionField& field, std::span<const std::string> texts, Question& question)
{
    std::visit(
        [&](auto member) {
            if constexpr (std::is_same_v<decltype(member), std::vector<std::string> Question::*>) {
                (question.*member).assign(texts.begin(), texts.end());
            } else if constexpr (std::is_same_v<decltype(member), bool Question::*>) {
                question.*member = !texts.empty();
            } else {
                question.*member = texts.empty() ? std::string() : texts.front();
            }
        },
        field.member);
}

void takeTexts(const Question& from, Question& to)
{
    for (const QuestionField& field : table()) {
        if (field.isOfTexts) {
            setTexts(field, textsOf(field, from), to);
        }
    }
}

bool namesText(const Question& question) { return !question.text.empty() || !question.ids.empty(); }

std::vector<std::string> writtenNumbers(std::span<const double> numbers)
{
    std::vector<std::string> texts;
    std::ranges::transform(numbers, std::back_inserter(texts), [](double number) { return fmt::format("{}", number); });
    return texts.empty() ? std::vector<std::string>{std::string(kNoNumbers)} : texts;
}

Result<double> readNumber(const std::string& text)
{
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end || !std::isfinite(number)) {
        return base::usageError(fmt::format("\"{}\" is no number", text));
    }
    return number;
}

Result<std::vector<double>> readNumbers(std::span<const std::string> texts)
{
    std::vector<double> numbers;
    if (texts.size() == 1 && texts.front() == kNoNumbers) {
        return numbers;
    }
    for (const std::string& text : texts) {
        RETRO_TRY(numbers.emplace_back(), readNumber(text));
    }
    return numbers;
}

Question recordedQuestion(const trace::Run& run)
{
    Question question;
    for (const QuestionField& field : table()) {
        if (field.fact != nullptr && !(run.facts.*field.fact).empty()) {
            setTexts(field, std::span(&(run.facts.*field.fact), 1), question);
        }
    }
    if (run.facts.numbers.contains(trace::kDocumentNumber)) {
        question.traversal = "document";
    }
    for (const trace::SourceFacts& source : run.facts.sources) {
        question.inputs.push_back(source.source);
    }
    question.targets = {run.facts.targetIndex.empty() ? "argmax" : trace::targetCode(run)};
    return question;
}

void keepQuestion(const Question& question, trace::RunFacts& facts)
{
    for (const QuestionField& field : table()) {
        if (field.fact != nullptr) {
            const std::vector<std::string> texts = textsOf(field, question);
            facts.*field.fact = texts.empty() ? std::string(field.usual) : texts.front();
        }
    }
}

Question openedWith(const ModelCard& card)
{
    Question question;
    for (const QuestionField& field : table()) {
        if (field.card) {
            setTexts(field, field.card->read(card), question);
        }
    }
    return question;
}

void keepQuestion(const Question& question, ModelCard& card)
{
    for (const QuestionField& field : table()) {
        if (field.card) {
            field.card->write(textsOf(field, question), card);
        }
    }
}

bool isSameInCard(const Question& a, const Question& b)
{
    return std::ranges::all_of(table(), [&](const QuestionField& field) {
        const bool isKept = field.card || field.name == "rule"; // rules are part of the composite that is kept
        return !isKept || textsOf(field, a) == textsOf(field, b);
    });
}

} // namespace retro::engine
