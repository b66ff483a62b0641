// SPDX-License-Identifier: Apache-2.0
#include "core/engine/question/combinations.h"

#include "core/engine/question/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace retro::engine
{

namespace
{

/// What is asked for in no field of its own.
constexpr std::string_view kAloneByPlan = "alone-by-plan";
constexpr std::string_view kBatch = "batch";

constexpr std::string_view kInputsAlone = "nothing but the relevance of the inputs is kept";
constexpr std::string_view kWholePass = "what parameters carried follows from a whole pass";
constexpr std::string_view kRegionOfAll = "a region is asked of the relevance of every value";
constexpr std::string_view kConditionInside = "a condition looks at the relevance of a value inside";
constexpr std::string_view kNoEvents = "there are no events to record: the engine promise alone makes them";
constexpr std::string_view kNoVisits = "the oracle makes no visits and cannot stop at checkpoints";
constexpr std::string_view kPlanKeeps = "a plan says what is kept, and carries out the pass itself";
constexpr std::string_view kFormsOfPromise = "forward values come in chosen forms to the engine promise alone";
constexpr std::string_view kFrozenOfPromise = "what frozen weights leave out comes back to the engine promise alone";
constexpr std::string_view kFormsSave = "how forward values get to the rules that read them says what is saved";
constexpr std::string_view kNothingRuns = "a graph is written and nothing runs";
constexpr std::string_view kOneStart =
    "a graph starts at one word, or with --start input at +1 for it and -1 for the other";
constexpr std::string_view kStepsOfPromise = "the engine promise alone takes the steps of the document";

constexpr std::string_view kOneText = "what a model reads is given once";
constexpr std::string_view kOneGoesOn = "the text goes on in one way";
constexpr std::string_view kStepsAlone = "each step is a pass over the inputs of its own";

constexpr std::string_view kOneForOthers = "the first of the positions is that of the question";
constexpr std::string_view kTextAsItIs = "the positions are those of the text as it is given";

constexpr std::array kExclusions{
    Exclusion{"text", "ids", kOneText},
    Exclusion{"generate", "continue", kOneGoesOn},
    Exclusion{"generate", "check-oracle", kStepsAlone},
    Exclusion{"continue", "check-oracle", kStepsAlone},
    Exclusion{"positions", "position", kOneForOthers},
    Exclusion{"positions", "generate", kTextAsItIs},
    Exclusion{"positions", "continue", kTextAsItIs},
    Exclusion{"positions", "check-oracle", "the oracle looks at one position"},
    Exclusion{"positions", "stop-at-checkpoints", "each position is a pass down to the tokens"},
    Exclusion{"contrast", "start", "a contrast says where relevance starts"},
    Exclusion{"text", "graph-out", kNothingRuns},
    Exclusion{"ids", "graph-out", kNothingRuns},
    Exclusion{"contrast", "graph-out", kOneStart},
    Exclusion{"generate", "graph-out", kNothingRuns},
    Exclusion{"continue", "graph-out", kNothingRuns},
    Exclusion{"positions", "graph-out", kNothingRuns},
    Exclusion{"html", "graph-out", kNothingRuns},
    Exclusion{"attention", "graph-out", kNothingRuns},
    Exclusion{"layers", "graph-out", kNothingRuns},
    Exclusion{"attention", "inputs-only", kInputsAlone},
    Exclusion{"text", kBatch, kOneText},
    Exclusion{"ids", kBatch, kOneText},
    Exclusion{"contrast", kBatch, "a contrast is of one text"},
    Exclusion{"generate", kBatch, kStepsAlone},
    Exclusion{"continue", kBatch, kStepsAlone},
    Exclusion{"positions", kBatch, "positions are of one text"},
    Exclusion{"html", kBatch, "a page shows one text"},
    Exclusion{"inputs-only", "engine=oracle", kInputsAlone},
    Exclusion{"inputs-only", "engine=compiled", kInputsAlone},
    Exclusion{"inputs-only", "run", kInputsAlone},
    Exclusion{"inputs-only", "open", kInputsAlone},
    Exclusion{"inputs-only", "checkpoint", kInputsAlone},
    Exclusion{"inputs-only", "stop-at-checkpoints", kInputsAlone},
    Exclusion{"inputs-only", "check-oracle", kInputsAlone},
    Exclusion{"inputs-only", "forwarded", kInputsAlone},
    Exclusion{"parameters", "inputs-only", kWholePass},
    Exclusion{"parameters", "stop-at-checkpoints", kWholePass},
    Exclusion{"region-of", "inputs-only", kRegionOfAll},
    Exclusion{"region-of", "stop-at-checkpoints", kRegionOfAll},
    Exclusion{"condition", "inputs-only", kConditionInside},
    Exclusion{"condition", "stop-at-checkpoints", kConditionInside},
    Exclusion{"planned", "save=all", kPlanKeeps},
    Exclusion{"planned", "save=frozen", kPlanKeeps},
    Exclusion{"save=frozen", "engine=compiled", kFrozenOfPromise},
    Exclusion{"save=frozen", "engine=oracle", kFrozenOfPromise},
    Exclusion{"save=frozen", "inputs-only", kInputsAlone},
    Exclusion{"plan", "strategy", "a plan that is there needs no strategy"},
    Exclusion{"plan", "tier", "a plan that is there says itself what it moves"},
    Exclusion{kAloneByPlan, "stop-at-checkpoints", "a plan has no visits, at one of which it could stop"},
    Exclusion{"engine=oracle", "run", kNoEvents},
    Exclusion{"engine=compiled", "run", kNoEvents},
    Exclusion{"engine=oracle", "stop-at-checkpoints", kNoVisits},
    Exclusion{"traversal=document", "engine=oracle", kStepsOfPromise},
    Exclusion{"traversal=document", "engine=compiled", kStepsOfPromise},
    Exclusion{"traversal=document", kAloneByPlan, kStepsOfPromise},
    Exclusion{"traversal=document", "inputs-only", kInputsAlone},
    Exclusion{"traversal=document", "parameters", kWholePass},
    Exclusion{"forwarded", "engine=oracle", kFormsOfPromise},
    Exclusion{"forwarded", "engine=compiled", kFormsOfPromise},
    Exclusion{"forwarded", "save=all", kFormsSave},
    Exclusion{"forwarded", "save=frozen", kFormsSave},
    Exclusion{"forwarded", "planned", kFormsSave},
    Exclusion{"check-oracle", kBatch, "the oracle looks at one input"},
    Exclusion{"graph-out", "run", kNothingRuns},
    Exclusion{"graph-out", "condition", kNothingRuns},
    Exclusion{"graph-out", "region-of", kNothingRuns},
    Exclusion{"graph-out", "checkpoint", kNothingRuns},
    Exclusion{"graph-out", "stop-at-checkpoints", kNothingRuns},
    Exclusion{"graph-out", "inputs-only", kNothingRuns},
    Exclusion{"graph-out", "image", kNothingRuns},
    Exclusion{"graph-out", "open", kNothingRuns},
    Exclusion{"graph-out", "check-oracle", kNothingRuns},
    Exclusion{"graph-out", "engine=oracle", kNothingRuns},
    Exclusion{"graph-out", "engine=compiled", kNothingRuns},
    Exclusion{"graph-out", "traversal=document", kNothingRuns},
    Exclusion{"graph-out", "profile", kNothingRuns},
    Exclusion{kRelevanceGraph, "planned", kNothingRuns},
    Exclusion{kRelevanceGraph, "forwarded", kNothingRuns},
    Exclusion{kRelevanceGraph, "parameters", kNothingRuns},
};

bool holds(std::span<const Asked> asks, std::string_view what)
{
    return std::ranges::any_of(asks, [&](const Asked& one) { return one.what == what; });
}

void add(std::vector<Asked>& asks, std::string what, std::string option)
{
    if (!holds(asks, what)) {
        asks.push_back({std::move(what), std::move(option)});
    }
}

} // namespace

std::vector<Asked> asksOf(const Question& question, bool isBatch)
{
    std::vector<Asked> asks;
    for (const QuestionField& field : questionFields()) {
        const std::vector<std::string> texts = textsOf(field, question);
        if (texts.empty()) {
            continue;
        }
        const std::string option = fmt::format("--{}", field.name);
        add(asks, std::string(field.name), option);
        if (!field.choices.empty()) {
            add(asks, fmt::format("{}={}", field.name, texts.front()), fmt::format("{} {}", option, texts.front()));
        }
        if (!field.group.empty()) {
            add(asks, std::string(field.group), option);
        }
    }
    joinPlanOfEngine(asks);
    if (isBatch) {
        add(asks, std::string(kBatch), "a folder or @list.txt of inputs");
    }
    return asks;
}

void joinPlanOfEngine(std::vector<Asked>& asks)
{
    for (const char* engine : {"oracle", "compiled"}) {
        const std::string what = std::string("engine=") + engine;
        if (holds(asks, "planned") && holds(asks, what)) {
            std::erase_if(asks, [&](const Asked& one) { return one.what == what; });
            add(asks, std::string(kAloneByPlan), fmt::format("--engine {} by a plan", engine));
        }
    }
}

std::string wordsOf(std::string_view what)
{
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kWords{
        std::pair{"planned", "a plan (`--plan`, `--budget`, `--strategy`)"},
        std::pair{"forwarded", "`--forward` and its like (`--checkpoint-every`)"},
        std::pair{"region-of", "a region (`--region`, `--region-box`, `--region-tokens`)"},
        std::pair{kAloneByPlan, "`--engine oracle` or `compiled` by a plan"},
        std::pair{kRelevanceGraph, "`--graph-out` of `explain`"},
        std::pair{kBatch, "a folder or `@list.txt` of inputs"}};
    const auto* known = std::ranges::find(kWords, what, [](const auto& one) { return one.first; });
    if (known != kWords.end()) {
        return std::string(known->second);
    }
    std::string option(what);
    std::ranges::replace(option, '=', ' ');
    return fmt::format("`--{}`", option);
}

bool asksFor(const Question& question, std::string_view what) { return holds(asksOf(question), what); }

std::span<const Exclusion> exclusions() { return kExclusions; }

base::Result<void> checkTogether(std::span<const Asked> asks)
{
    const auto optionOf = [&](std::string_view what) -> const std::string& {
        return std::ranges::find(asks, what, &Asked::what)->option;
    };
    for (const Exclusion& pair : kExclusions) {
        if (holds(asks, pair.one) && holds(asks, pair.other)) {
            return base::usageError(fmt::format("{}; leave one of the two out", pair.reason),
                                    fmt::format("{} and {}", optionOf(pair.one), optionOf(pair.other)));
        }
    }
    return {};
}

} // namespace retro::engine
