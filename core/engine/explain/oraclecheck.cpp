// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/oraclecheck.h"

#include "core/ops/algebra.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace retro::engine
{

using base::Result;
using base::ValueId;
using tensor::Tensor;

namespace
{

void take(OracleCheck& check, const std::string& name, const Tensor& own, const Tensor& oracle)
{
    ++check.values;
    if (own.bitEqual(oracle)) {
        ++check.equal;
        return;
    }
    const double much = relativeDifference(own, oracle);
    if (check.where.empty() || much > check.largest) {
        check.largest = much;
        check.where = name;
    }
}

} // namespace

double relativeDifference(const Tensor& a, const Tensor& b)
{
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    if (a.shape() != b.shape()) {
        return kInfinite;
    }
    double largest = 0;
    double scale = 0;
    for (std::int64_t i = 0; i < a.size(); ++i) {
        const double distance = std::abs(a.at(i) - b.at(i));
        largest = std::isnan(distance) ? kInfinite : std::max(largest, distance);
        scale = std::max(scale, std::abs(b.at(i)));
    }
    return largest == 0 ? 0 : largest / scale; // infinite where the oracle has only zeros
}

std::string OracleCheck::text() const
{
    if (values == 0) {
        return "has no relevance that the oracle could be asked about";
    }
    const std::string missing =
        unknown == 0 ? std::string() : fmt::format("; {} values of the oracle are not kept in this run", unknown);
    if (values == equal) {
        return fmt::format("equals the oracle in every bit of {} values{}", values, missing);
    }
    return fmt::format("{} the oracle in {} of {} values, most in {}: {:.2g} of its largest element{}",
                       holds() ? "has other last digits than" : "differs from", values - equal, values, where, largest,
                       missing);
}

OracleCheck compareWithOracle(const graph::Graph& graph, const std::vector<Tensor>& relevance,
                              const std::vector<Tensor>& oracle)
{
    OracleCheck check;
    for (std::size_t i = 0; i < std::min(relevance.size(), oracle.size()); ++i) {
        if (relevance[i].isValid() && oracle[i].isValid()) {
            take(check, graph.value(ValueId(i)).name, relevance[i], oracle[i]);
        } else if (oracle[i].isValid()) {
            ++check.unknown;
        }
    }
    return check;
}

Result<OracleCheck> checkAgainstOracle(const LoadedModel& model, ExplainRequest request,
                                       const std::vector<Tensor>& relevance, const std::stop_token& stop,
                                       const StageProgress& progress)
{
    request.engine = EngineKind::Oracle;
    request.save = execute::SavePolicy::All; // whatever a plan kept
    request.forwarding.reset();
    request.record = false;
    request.keepValues = false;
    request.checkpoints.clear();
    request.stopAtCheckpoints = false;
    // By the document parts are added in the order in which they arrive: the last digits may be others.
    const bool isDouble = request.precision == execute::Precision::Double;
    const double tolerance = !request.followsDocument ? 0 : isDouble ? 1e-9 : 1e-4;
    request.followsDocument = false;
    RETRO_TRY(const ExplainResult oracle, explain(model, request, stop, progress));
    if (oracle.relevance.size() != relevance.size()) {
        return base::inputError("this relevance is that of another graph, so the oracle has nothing to compare with",
                                model.name);
    }
    OracleCheck check = compareWithOracle(oracle.model->graph(), relevance, oracle.relevance);
    check.tolerance = tolerance;
    return check;
}

} // namespace retro::engine
