// SPDX-License-Identifier: Apache-2.0
#include "app/cli/planfit.h"

#include "core/analysis/report.h"
#include "core/engine/plan/fit.h"
#include "core/schedule/planorders.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace retro::app
{

namespace
{

using base::Result;
using nlohmann::ordered_json;

/// What --fit asks.
struct Asked
{
    std::string symbol;
    std::optional<std::int64_t> extent;
};

Result<Asked> parseFit(const std::string& text)
{
    const std::size_t at = text.find('=');
    Asked asked{text.substr(0, at), {}};
    bool isGood = !asked.symbol.empty();
    if (at != std::string::npos) {
        std::int64_t extent = 0;
        const char* const end = text.data() + text.size();
        const auto read = std::from_chars(text.data() + at + 1, end, extent);
        isGood = isGood && read.ec == std::errc() && read.ptr == end && extent >= 1;
        asked.extent = extent;
    }
    return isGood ? Result<Asked>(asked)
                  : base::usageError("write a symbol of the inputs, or NAME=N with N of at least 1", "--fit " + text);
}

/// Tries extents of one model.
class FitTries
{
public:
    FitTries(const FitQuestion& question, const engine::LoadedModel& model, std::string symbol)
        : m_question(question), m_model(model), m_symbol(std::move(symbol))
    {}

    Result<engine::FitTry> at(std::int64_t extent)
    {
        PlanningOptions planning = m_question.planning;
        planning.sizes.push_back(fmt::format("{}={}", m_symbol, extent));
        RETRO_TRY(const engine::SubjectPlanning made, planning.planningOf(m_model));
        RETRO_TRY(bands, planning.bands(m_model, made.planning));
        const analysis::OpGraph& forward = made.planning.graph;
        RETRO_TRY(const analysis::JointGraph joint,
                  analysis::jointOf(forward, forward.order(), planning.joint(made.planning.unit)));
        RETRO_TRY(budget, splitBudget(m_question.budget, joint.graph, bands));
        schedule::PlanRequest request = m_question.request;
        request.graph = &joint.graph;
        request.budget = budget.forResults;
        RETRO_TRY(const schedule::PlanResult result,
                  schedule::planInOrders(m_question.strategy, m_question.order, forward, joint, request));
        // Below what any plan needs nothing was tried; then that is what is needed.
        const std::uint64_t least = m_question.strategy == "store_all" ? result.basePeak : result.floor;
        return engine::FitTry{result.plan.has_value(), result.peak > 0 ? result.peak : least, {}};
    }

    std::vector<engine::CountedBand> bands; ///< of the extent that was tried last
    SplitBudget budget;

private:
    const FitQuestion& m_question;
    const engine::LoadedModel& m_model;
    std::string m_symbol;
};

Result<void> checkQuestion(const FitQuestion& question, const Asked& asked)
{
    if (question.budget.empty() || base::isShareText(question.budget)) {
        return base::usageError("say how much there is, in bytes (--budget 24GB)", "--fit " + question.fit);
    }
    if (question.planning.hasInputs()) {
        return base::usageError("the inputs say how large they are; leave one of the two out", "--fit and --input");
    }
    const auto isOfSymbol = [&](const std::string& size) { return size.starts_with(asked.symbol + "="); };
    if (std::ranges::any_of(question.planning.sizes, isOfSymbol)) {
        return base::usageError("the size of this symbol is asked for; leave one of the two out",
                                "--fit and --size " + asked.symbol);
    }
    return {};
}

/// With planners another plan may fit.
bool isExact(const FitQuestion& question) { return question.strategy == "store_all"; }

/// An extent beyond what can be counted, or one that the model does not take.
void answerUntried(Context& context, const FitQuestion& question, const FitTries& tries, const Asked& asked,
                   const std::string& why)
{
    if (context.json) {
        context.answer(ordered_json{{"symbol", asked.symbol},
                                    {"extent", *asked.extent},
                                    {"fits", false},
                                    {"peak", nullptr},
                                    {"budget", tries.budget.whole},
                                    {"missing", nullptr},
                                    {"why", why},
                                    {"strategy", question.strategy}});
    } else {
        context.say(fmt::format("{} = {} does not fit: {}", asked.symbol, *asked.extent, why));
    }
    context.exitCode = exitCodeOf(base::ErrorCode::Engine);
}

Result<void> answerOne(Context& context, const FitQuestion& question, FitTries& tries, const Asked& asked)
{
    RETRO_TRY(const engine::FitTry tried,
              engine::tryOne([&](std::int64_t extent) { return tries.at(extent); }, *asked.extent));
    if (!tried.why.empty()) {
        answerUntried(context, question, tries, asked, tried.why);
        return {};
    }
    const std::uint64_t needed = tried.peak + engine::totalOf(tries.bands);
    const std::uint64_t missing = !tried.fits && needed > tries.budget.whole ? needed - tries.budget.whole : 0;
    if (context.json) {
        ordered_json json{{"symbol", asked.symbol},       {"extent", *asked.extent},      {"fits", tried.fits},
                          {"peak", tried.peak},           {"budget", tries.budget.whole}, {"missing", missing},
                          {"strategy", question.strategy}};
        addBands(json, tries.bands);
        context.answer(json);
    } else {
        sayBands(context, tries.bands);
        const std::string name = fmt::format("{} = {}", asked.symbol, *asked.extent);
        context.say(tried.fits ? fmt::format("{} fits: peak {} of {}", name, bothBytesText(needed),
                                             bothBytesText(tries.budget.whole))
                               : fmt::format("{} does not fit{}: {} of {} are needed, {} are missing", name,
                                             isExact(question) ? "" : " by these planners", bothBytesText(needed),
                                             bothBytesText(tries.budget.whole), bothBytesText(missing)));
    }
    context.exitCode = tried.fits ? 0 : exitCodeOf(base::ErrorCode::Engine);
    return {};
}

Result<void> answerLargest(Context& context, const FitQuestion& question, FitTries& tries, const Asked& asked)
{
    RETRO_TRY(const engine::FitResult found,
              engine::largestThatFits([&](std::int64_t extent) { return tries.at(extent); }));
    const std::uint64_t counted = engine::totalOf(tries.bands);
    if (context.json) {
        ordered_json json{
            {"symbol", asked.symbol},
            {"largest", found.largest},
            {"is_exact", isExact(question)},
            {"peak", found.at.peak},
            {"peak_of_one_more", found.oneMore.peak == 0 ? ordered_json() : ordered_json(found.oneMore.peak)},
            {"why_not_more", found.whyNotMore},
            {"budget", tries.budget.whole},
            {"strategy", question.strategy},
            {"tries", found.tries}};
        addBands(json, tries.bands);
        context.answer(json);
    } else {
        sayBands(context, tries.bands);
        if (found.largest == 0) {
            context.say(fmt::format("{} = 1 does not fit: {} of {} are needed", asked.symbol,
                                    bothBytesText(found.at.peak + counted), bothBytesText(tries.budget.whole)));
        } else {
            context.say(fmt::format("{} = {}{} fits: peak {} of {}", asked.symbol, found.largest,
                                    isExact(question) ? "" : " at least", bothBytesText(found.at.peak + counted),
                                    bothBytesText(tries.budget.whole)));
            context.say(found.whyNotMore.empty()
                            ? fmt::format("one more needs {}", bothBytesText(found.oneMore.peak + counted))
                            : "more: " + found.whyNotMore);
        }
    }
    context.exitCode = found.largest > 0 ? 0 : exitCodeOf(base::ErrorCode::Engine);
    return {};
}

} // namespace

Result<void> answerFit(Context& context, const FitQuestion& question)
{
    RETRO_TRY(const Asked asked, parseFit(question.fit));
    RETRO_CHECK(checkQuestion(question, asked));
    RETRO_TRY(const engine::LoadedModelPointer model, question.planning.open());
    FitTries tries(question, *model, asked.symbol);
    return asked.extent ? answerOne(context, question, tries, asked) : answerLargest(context, question, tries, asked);
}

} // namespace retro::app
