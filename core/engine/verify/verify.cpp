// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/verify.h"

#include "core/base/cancel.h"
#include "core/engine/explain/stopwatch.h"
#include "core/engine/verify/cellchecks.h"
#include "core/engine/verify/enginechecks.h"
#include "core/engine/verify/rewritechecks.h"
#include "core/engine/verify/tapechecks.h"
#include "core/engine/verify/targettape.h"
#include "core/engine/verify/wiringchecks.h"

#include <algorithm>
#include <iterator>

namespace retro::engine
{

using base::Result;
using tape::Id;

namespace
{

Result<TargetTape> subjectIn(const LoadedModel& model, const VerifyRequest& request, execute::Precision precision,
                             const std::stop_token& stop)
{
    return targetTape(model, request.inputs, request.target, precision, stop);
}

void append(PropertyResults& all, PropertyResults more) { std::ranges::move(more, std::back_inserter(all)); }

/// P1 to P13 in the order of their numbers; the others stay behind them.
void sortByNumber(PropertyResults& results)
{
    const auto number = [](const PropertyResult& one) {
        return one.id.size() > 1 && one.id[0] == 'P' ? std::stoi(one.id.substr(1)) : 1000;
    };
    std::ranges::stable_sort(results, {}, number);
}

ExplainRequest questionOf(const VerifyRequest& request)
{
    ExplainRequest question;
    question.inputs = request.inputs;
    question.target = request.target;
    question.composite = request.composite;
    question.precision = request.precision;
    return question;
}

Result<VerifyResult> checkAll(const LoadedModel& model, const VerifyRequest& request, const std::stop_token& stop,
                              const StageProgress& progress)
{
    const Stopwatch watch;
    VerifyResult result;
    const auto report = [&progress](const char* stage) {
        if (progress) {
            progress(stage, 0, 1);
        }
    };
    report("tape");
    RETRO_TRY(const TargetTape own, subjectIn(model, request, request.precision, stop));
    result.cells = own.made.tape.size();
    result.model = own.made.model;
    result.target = own.chosen;
    RETRO_TRY(result.properties, checkTape(own.made, own.target, own.start, stop, &result.course));
    if (!isSound(own.made)) {
        return result; // nothing else can be said of it
    }
    append(result.properties, checkWiring(own.made, own.target, request.seed));
    report("gradients in double");
    RETRO_TRY(const TargetTape wide, subjectIn(model, request, execute::Precision::Double, stop));
    RETRO_TRY(result.nodes, checkNodes(wide.made, request.seed, stop, progress));
    result.properties.push_back(judgeNodes(result.nodes));
    RETRO_TRY(result.properties.emplace_back(), checkWhole(wide.made, wide.target, wide.start, request.seed, stop));
    if (request.hasShadow && request.precision == execute::Precision::Float) {
        result.ulps = ulpDistances(own.made, wide.made);
    }
    report("rewrites");
    RETRO_TRY(PropertyResults rewrites, checkRewrites(model, request.inputs, request.target, request.seed, stop));
    append(result.properties, std::move(rewrites));
    report("engines");
    RETRO_TRY(PropertyResults engines, checkEngines(model, questionOf(request), stop));
    append(result.properties, std::move(engines));
    sortByNumber(result.properties);
    result.seconds = watch.seconds();
    return result;
}

} // namespace

bool VerifyResult::isViolated() const
{
    return std::ranges::any_of(properties,
                               [](const PropertyResult& one) { return one.state == PropertyState::Violated; });
}

Result<VerifyResult> verify(const LoadedModel& model, const VerifyRequest& request, const std::stop_token& stop,
                            const StageProgress& progress)
{
    Result<VerifyResult> result = checkAll(model, request, stop, progress);
    RETRO_CHECK(base::checkStop(stop)); // a rule that was stopped reads like one that failed
    return result;
}

} // namespace retro::engine
