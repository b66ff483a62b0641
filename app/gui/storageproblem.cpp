// SPDX-License-Identifier: Apache-2.0
#include "app/gui/storageproblem.h"

#include "core/analysis/fromgraph.h"
#include "core/analysis/liveness.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::app
{

using analysis::OpGraph;
using analysis::OpValueId;
using base::Result;

namespace
{

/// Numbers the values as on a tape and writes down what is read where.
class StorageWriter
{
public:
    StorageWriter(const OpGraph& planned, const graph::Graph& graph) : m_planned(planned), m_graph(graph)
    {
        m_numbers.resize(planned.values().size(), 0);
    }

    views::StorageFacts write(OpValueId target, const QString& costUnit)
    {
        for (const bool isSource : {true, false}) {
            for (const analysis::OpId op : m_planned.order()) {
                if ((m_planned.op(op).phase == analysis::Phase::Source) == isSource) {
                    addOp(op, isSource);
                }
            }
        }
        m_problem.output = m_numbers[target];
        views::StorageFacts facts{{}, costUnit, {}};
        for (const std::uint32_t value : analysis::storageCandidates(m_problem)) {
            facts.tensors.push_back({value, QString::fromStdString(m_names[value]), nodeOf(m_names[value]),
                                     m_problem.sizeOf(value), m_problem.node(value).cost});
        }
        facts.follow = [problem = std::move(m_problem)](const std::set<std::uint32_t>& rebuilt) {
            const analysis::Liveness lives = analysis::liveness(problem, rebuilt);
            return views::StorageTrack{lives.resident, problem.nodes.size(), lives.peak, lives.extraCost};
        };
        return facts;
    }

private:
    [[nodiscard]] std::vector<std::uint32_t> numbersOf(std::span<const OpValueId> values) const
    {
        std::vector<std::uint32_t> numbers;
        for (const OpValueId value : values) {
            numbers.push_back(m_numbers[value]);
        }
        return numbers;
    }

    void addOp(analysis::OpId id, bool isSource)
    {
        const analysis::Op& op = m_planned.op(id);
        for (const OpValueId output : op.outputs) {
            m_numbers[output] = static_cast<std::uint32_t>(m_names.size());
            m_names.push_back(m_planned.value(output).name);
            const auto bytes = static_cast<std::int64_t>(m_planned.value(output).bytes);
            if (isSource) {
                m_problem.leafSizes.push_back(bytes);
            } else {
                const bool isFirst = output == op.outputs.front(); // it is computed once for all its results
                m_problem.nodes.push_back({numbersOf(m_planned.reads(id)), {}, bytes, isFirst ? op.cost : 0});
            }
        }
        for (std::size_t i = 0; !isSource && i < op.outputs.size(); ++i) { // each result has a number only now
            auto& reads = (m_problem.nodes.rbegin() + static_cast<std::ptrdiff_t>(i))->backwardReads;
            reads = numbersOf(op.savedInputs);
            const std::vector<std::uint32_t> own = numbersOf(op.savedOutputs);
            reads.insert(reads.end(), own.begin(), own.end());
        }
    }

    [[nodiscard]] base::NodeId nodeOf(const std::string& value) const
    {
        const auto found = m_graph.findValue(value);
        return found ? m_graph.nodeOf(*found) : base::NodeId();
    }

    const OpGraph& m_planned;
    const graph::Graph& m_graph;
    std::vector<std::uint32_t> m_numbers; ///< per value of the planning graph
    std::vector<std::string> m_names;     ///< per number
    analysis::StorageProblem m_problem;
};

/// The value of that name; one that looks at another's storage is planned for as that one: then the graph's output.
std::optional<OpValueId> planned(const OpGraph& graph, const std::string& name)
{
    const auto values = graph.values();
    auto at = std::ranges::find(values, name, &analysis::OpValue::name);
    if (at == values.end()) {
        at = std::ranges::find(values, true, &analysis::OpValue::isOutput);
    }
    return at == values.end() ? std::nullopt : std::optional(static_cast<OpValueId>(at - values.begin()));
}

} // namespace

Result<views::StorageFacts> storageFacts(const execute::BoundModel& model, base::ValueId target)
{
    analysis::BoundFacts facts;
    facts.typeOf = [&](base::ValueId id) { return std::optional(model.typeOf(id)); };
    facts.operatorOf = [&](base::NodeId id) { return &model.op(id); };
    RETRO_TRY(const analysis::PlanningGraph planning, analysis::planningGraph(model.graph(), facts));
    const std::size_t count = planning.graph.values().size();
    if (count > kMostStorageValues) {
        return base::usageError(fmt::format("the graph has {} values; choices are followed here for up to {}. "
                                            "`retrograde-cli plan` plans larger graphs",
                                            count, kMostStorageValues));
    }
    const std::string name = target.isValid() ? model.graph().value(target).name : std::string();
    const std::optional<OpValueId> output = planned(planning.graph, name);
    if (!output) {
        return base::usageError("nothing that is planned for is an output of the graph");
    }
    const std::string_view unit = analysis::nameOf(planning.unit);
    return StorageWriter(planning.graph, model.graph())
        .write(*output, QString::fromUtf8(unit.data(), static_cast<qsizetype>(unit.size())));
}

} // namespace retro::app
