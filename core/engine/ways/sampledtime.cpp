// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/sampledtime.h"

#include "core/base/cancel.h"
#include "core/engine/explain/stopwatch.h"
#include "core/execute/runnode.h"
#include "core/lrp/rules/reverseflops.h"
#include "core/lrp/rules/ruleapplication.h"
#include "core/ops/threads.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace retro::engine
{

namespace
{

using base::NodeId;
using base::Result;
using base::ValueId;
using execute::BoundModel;
using graph::Graph;
using graph::Node;
using ops::StructureKind;
using tensor::Tensor;

constexpr std::size_t kMostNodes = 3; ///< of a kind that are timed, each with weights of its own
constexpr int kMostTimes = 4;         ///< that a short node is run
constexpr double kLongEnough = 0.001; ///< seconds of one that is run once

bool isSame(const graph::Attribute& a, const graph::Attribute& b)
{
    return a.index() == b.index() && std::visit(
                                         [&b]<class T>(const T& value) {
                                             if constexpr (std::equality_comparable<T>) {
                                                 return value == std::get<T>(b);
                                             } else {
                                                 return false; // tensors and graphs
                                             }
                                         },
                                         a);
}

bool isSame(const graph::Attributes& a, const graph::Attributes& b)
{
    return std::ranges::equal(a, b, [](const auto& one, const auto& two) {
        return one.first == two.first && isSame(one.second, two.second);
    });
}

/// What decides how long a node takes, in words; attributes are compared beside it.
std::string kindOf(const BoundModel& model, NodeId id)
{
    const Node& node = model.graph().node(id);
    std::string kind = node.domain + ":" + node.op;
    for (const std::vector<ValueId>* values : {&node.inputs, &node.outputs}) {
        kind += "|";
        for (const ValueId value : *values) {
            if (!value.isValid()) {
                kind += "-,";
                continue;
            }
            const ops::TensorType& type = model.typeOf(value);
            const Tensor& stored = model.storedConstant(value);
            kind += std::string(tensor::nameOf(type.dtype)) + tensor::toText(type.shape) +
                    (stored.isValid() ? "=" + std::string(tensor::nameOf(stored.dtype())) : std::string()) +
                    (model.isTracked(value) ? "*" : "") + ",";
        }
    }
    return kind;
}

/// Zero but in the last row of the last but one axis.
Tensor lastRowOf(const Tensor& relevance)
{
    if (!relevance.isValid() || relevance.rank() < 2 || relevance.size() == 0) {
        return relevance;
    }
    const Tensor plain = relevance.contiguous();
    tensor::TensorBuffer buffer(plain.dtype(), plain.shape());
    buffer.clear();
    const std::size_t row = static_cast<std::size_t>(plain.shape().back()) * tensor::sizeOf(plain.dtype());
    const std::size_t rows = static_cast<std::size_t>(plain.shape()[plain.rank() - 2]);
    const std::size_t bytes = static_cast<std::size_t>(plain.bytes());
    for (std::size_t at = (rows - 1) * row; row > 0 && at < bytes; at += rows * row) {
        std::memcpy(buffer.rawData() + at, plain.rawData() + at, row);
    }
    return std::move(buffer).freeze();
}

/// Two thirds of it. Relevance has all digits of float32, also where values are rounded to bfloat16, and products of
/// numbers in bfloat16 may take half the time.
Tensor withAllDigits(const Tensor& value)
{
    if (!value.isValid() || value.dtype() != tensor::DType::Float32) {
        return value;
    }
    const Tensor plain = value.contiguous();
    tensor::TensorBuffer buffer(plain.dtype(), plain.shape());
    std::transform(plain.data<float>(), plain.data<float>() + plain.size(), buffer.data<float>(),
                   [](float number) { return number * (2.0F / 3.0F); });
    return std::move(buffer).freeze();
}

/// The middle of some times, each of the two by itself: one that a stop of the machine fell into does not count.
TakenTime middleOf(const std::vector<TakenTime>& times)
{
    const auto middle = [&times](double TakenTime::*part) {
        std::vector<double> sorted;
        std::ranges::transform(times, std::back_inserter(sorted), [part](const TakenTime& time) { return time.*part; });
        std::ranges::sort(sorted);
        return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
    };
    return {middle(&TakenTime::wall), middle(&TakenTime::processor)};
}

class Sampler
{
public:
    Sampler(const Pass& pass, const execute::RebuildingStore* store, bool hasOneRow, double budget)
        : m_pass(pass), m_model(*pass.result.model), m_graph(m_model.graph()), m_store(store), m_hasOneRow(hasOneRow),
          m_budget(budget), m_values(m_graph.valueCount()), m_kindOf(m_graph.nodeCount()),
          m_forward(m_graph.nodeCount()), m_isRun(m_graph.nodeCount(), false)
    {}

    Result<SampledTime> run()
    {
        RETRO_CHECK(runForward());
        runAgain();
        RETRO_CHECK(runRelevance());
        const double all = m_timedFlops + m_otherFlops;
        m_made.share = all > 0 ? m_timedFlops / all : 1;
        return m_made;
    }

private:
    /// Nodes that take the same time, and what those of them that were run took.
    struct Kind
    {
        NodeId first;
        std::vector<TakenTime> times;

        [[nodiscard]] bool wantsMore() const { return times.size() < kMostNodes; }
        [[nodiscard]] std::optional<TakenTime> each() const
        {
            return times.empty() ? std::nullopt : std::optional(middleOf(times));
        }
    };

    std::size_t kindIndex(NodeId id)
    {
        std::vector<std::size_t>& known = m_kindsByWords[kindOf(m_model, id)];
        const auto found = std::ranges::find_if(known, [&](std::size_t kind) {
            return isSame(m_graph.node(m_kinds[kind].first).attributes, m_graph.node(id).attributes);
        });
        if (found != known.end()) {
            return *found;
        }
        known.push_back(m_kinds.size());
        m_kinds.push_back({id, {}});
        return known.back();
    }

    /// Where other programs have the processors a clock goes on without us: then it may take longer.
    [[nodiscard]] bool isOver() const
    {
        constexpr double kMostWaiting = 3;
        const double processor = static_cast<double>(std::clock() - m_start) / CLOCKS_PER_SEC / ops::threads();
        const double wall = m_watch.seconds();
        return wall > m_budget && (processor > m_budget || wall > kMostWaiting * m_budget);
    }

    /// What was not timed, by its operations.
    [[nodiscard]] TakenTime guessed(double flops)
    {
        m_otherFlops += flops;
        return m_timedFlops > 0 ? m_timed.times(flops / m_timedFlops) : TakenTime();
    }
    void count(double flops, const TakenTime& time)
    {
        m_timedFlops += flops;
        m_timed += time;
    }

    /// The first time, in which nothing is in a cache of the processor; of what is short the middle of some more.
    template <class Do>
    Result<TakenTime> timed(const Do& act)
    {
        RETRO_TRY(const TakenTime first, once(act));
        if (first.wall >= kLongEnough) {
            return first;
        }
        std::vector<TakenTime> others;
        for (int i = 1; i < kMostTimes; ++i) {
            RETRO_TRY(const TakenTime next, once(act));
            others.push_back(next);
        }
        return middleOf(others);
    }
    template <class Do>
    Result<TakenTime> once(const Do& act)
    {
        RETRO_CHECK(base::checkStop(m_pass.stop));
        const Stopwatch watch;
        const std::clock_t before = std::clock();
        RETRO_CHECK(act());
        return TakenTime{watch.seconds(), static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC};
    }

    /// A value of the pass, or that of the first node of the kind of the one that makes it.
    [[nodiscard]] Tensor valueOf(ValueId value) const { return m_values[value.index()]; }

    Result<void> runForward()
    {
        for (std::size_t i = 0; i < m_pass.inputs.size(); ++i) {
            m_values[m_graph.inputs()[i].index()] = m_pass.inputs[i];
        }
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            const NodeId id(i);
            m_kindOf[i] = kindIndex(id);
            if (m_kinds[m_kindOf[i]].wantsMore() && !isOver() && hasOperands(id)) {
                RETRO_CHECK(runNode(id));
            } else {
                takeValuesOf(m_kinds[m_kindOf[i]].first, id);
            }
        }
        std::vector<NodeId> others;
        for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
            if (const std::optional<TakenTime> time = m_kinds[m_kindOf[i]].each()) {
                count(m_model.op(NodeId(i)).flops(), *time);
                m_forward[i] = *time;
            } else {
                others.emplace_back(i);
            }
        }
        for (const NodeId id : others) {
            m_forward[id.index()] = guessed(m_model.op(id).flops());
        }
        for (const TakenTime& time : m_forward) {
            m_made.forward += time;
        }
        return {};
    }

    [[nodiscard]] bool hasOperands(NodeId id) const
    {
        return std::ranges::all_of(m_graph.node(id).inputs, [this](ValueId value) {
            return !value.isValid() || m_model.isConstant(value) || m_values[value.index()].isValid();
        });
    }

    Result<void> runNode(NodeId id)
    {
        const Node& node = m_graph.node(id);
        std::vector<Tensor> results;
        RETRO_TRY(const TakenTime taken, timed([&]() -> Result<void> {
                      results.clear();
                      RETRO_TRY(results, execute::runNode(
                                             m_model, id, [this](ValueId value) { return valueOf(value); },
                                             execute::RunKind::Aside));
                      return {};
                  }));
        m_kinds[m_kindOf[id.index()]].times.push_back(taken);
        m_isRun[id.index()] = true;
        for (std::size_t k = 0; k < std::min(results.size(), node.outputs.size()); ++k) {
            if (node.outputs[k].isValid()) {
                m_values[node.outputs[k].index()] = results[k];
            }
        }
        return {};
    }

    void takeValuesOf(NodeId first, NodeId id)
    {
        const std::vector<ValueId>& from = m_graph.node(first).outputs;
        const std::vector<ValueId>& to = m_graph.node(id).outputs;
        for (std::size_t k = 0; k < std::min(from.size(), to.size()); ++k) {
            if (from[k].isValid() && to[k].isValid()) {
                m_values[to[k].index()] = m_values[from[k].index()];
            }
        }
    }

    /// What the store computes again: late values once, the others whenever a rule reads them.
    void runAgain()
    {
        for (const NodeId node : m_store == nullptr ? std::vector<NodeId>() : m_store->nodesAgain()) {
            m_made.again += m_forward[node.index()];
            count(m_model.op(node).flops(), m_forward[node.index()]);
        }
        m_made.relevance += m_made.again;
    }

    [[nodiscard]] std::vector<bool> nodesBelow() const
    {
        std::vector<bool> isNeeded(m_graph.valueCount(), false);
        std::vector<bool> isBelow(m_graph.nodeCount(), false);
        for (const ValueId target : m_pass.targets) {
            isNeeded[target.index()] = true;
        }
        for (std::size_t i = m_graph.nodeCount(); i-- > 0;) {
            const Node& node = m_graph.node(NodeId(i));
            isBelow[i] = std::ranges::any_of(node.outputs, [&](ValueId value) {
                return value.isValid() && isNeeded[value.index()] && m_model.isTracked(value);
            });
            for (const ValueId input : node.inputs) {
                if (isBelow[i] && input.isValid()) {
                    isNeeded[input.index()] = true;
                }
            }
        }
        return isBelow;
    }

    /// A rule at a node.
    struct Site
    {
        Kind* kind = nullptr;
        double flops = 0;
        NodeId node;
        bool isOneRow = false;
        std::vector<std::uint8_t> tracked;
    };

    /// In a pass, weights have been read before: rules of nodes that were run come first, others where there are none.
    Result<void> timeSites(const std::vector<Site>& sites)
    {
        for (const bool isRun : {true, false}) {
            for (const Site& site : sites) {
                const bool isWanted = isRun ? site.kind->wantsMore() : site.kind->times.empty();
                if (m_isRun[site.node.index()] != isRun || !isWanted || isOver()) {
                    continue;
                }
                const auto& rule = (*m_pass.prepared->rules)[site.node.index()].rule;
                RETRO_TRY(const std::optional<TakenTime> taken,
                          timedRule(site.node, lrp::ruleSite(m_model, site.node, rule, site.tracked), site.isOneRow));
                if (taken) {
                    site.kind->times.push_back(*taken);
                }
            }
        }
        return {};
    }

    /// Per slot: the operand carries relevance.
    [[nodiscard]] std::vector<std::uint8_t> trackedAt(NodeId id) const
    {
        std::vector<std::uint8_t> tracked;
        for (const ValueId input : m_graph.node(id).inputs) {
            tracked.push_back(input.isValid() && m_model.isTracked(input) ? 1 : 0);
        }
        return tracked;
    }

    /// From the last node to the first.
    std::vector<Site> sites()
    {
        const std::vector<bool> isBelow = nodesBelow();
        bool isOneRow = m_hasOneRow;
        std::vector<Site> sites;
        for (std::size_t i = m_graph.nodeCount(); i-- > 0;) {
            const NodeId id(i);
            std::vector<std::uint8_t> tracked = trackedAt(id);
            const auto& rule = (*m_pass.prepared->rules)[i].rule;
            if (!isBelow[i] || std::ranges::count(tracked, 1) == 0 || !rule) {
                continue;
            }
            Kind& kind = m_rules[std::to_string(m_kindOf[i]) + (isOneRow ? "r" : "") + m_pass.prepared->words[i].rule];
            const double flops = isOneRow ? 0 : lrp::reverseFlops(m_model, id, tracked);
            sites.push_back({&kind, flops, id, isOneRow, std::move(tracked)});
            isOneRow = isOneRow && !mixesRows(m_model.op(id).structure().kind());
        }
        return sites;
    }

    Result<void> runRelevance()
    {
        const std::vector<Site> sites = this->sites();
        RETRO_CHECK(timeSites(sites));
        for (const Site& site : sites) {
            const std::optional<TakenTime> time = site.kind->each();
            if (time && site.flops > 0) {
                count(site.flops, *time);
            }
        }
        for (const Site& site : sites) {
            const std::optional<TakenTime> time = site.kind->each();
            m_made.relevance += time ? *time : guessed(site.flops);
        }
        return {};
    }

    /// What a rule is given at the outputs of a node.
    struct AtOutputs
    {
        std::vector<Tensor> relevance;
        std::vector<Tensor> values; ///< those that the rule reads
    };

    /// The values stand for relevance, with all digits. None where one is not there.
    [[nodiscard]] std::optional<AtOutputs> atOutputs(const Node& node, const ops::Reads& reads, bool isOneRow) const
    {
        AtOutputs made;
        for (std::size_t k = 0; k < node.outputs.size(); ++k) {
            const ValueId output = node.outputs[k];
            const Tensor value = output.isValid() ? valueOf(output) : Tensor();
            const bool carries = output.isValid() && m_model.isTracked(output);
            if (carries && !value.isValid()) {
                return std::nullopt;
            }
            made.relevance.push_back(!carries ? Tensor() : withAllDigits(isOneRow ? lastRowOf(value) : value));
            made.values.push_back(reads.output(k) ? value : Tensor());
        }
        return made;
    }

    [[nodiscard]] std::vector<Tensor> operandsRead(const Node& node, const ops::Reads& reads) const
    {
        std::vector<Tensor> operands;
        for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
            const ValueId input = node.inputs[slot];
            const bool isRead = input.isValid() && (reads.operands & ops::Reads::bit(slot)) != 0;
            operands.push_back(!isRead                     ? Tensor()
                               : m_model.isConstant(input) ? m_model.constant(input)
                                                           : valueOf(input));
        }
        return operands;
    }

    /// None where values for it are not there.
    Result<std::optional<TakenTime>> timedRule(NodeId id, const lrp::RuleSite& site, bool isOneRow)
    {
        const Node& node = m_graph.node(id);
        const ops::Reads reads = site.rule->reads(m_model.op(id), site.tracked);
        const std::optional<AtOutputs> given = atOutputs(node, reads, isOneRow);
        if (!given) {
            return std::optional<TakenTime>();
        }
        RETRO_TRY(const TakenTime taken, timed([&]() -> Result<void> {
                      return base::caught([&]() -> Result<void> {
                          const lrp::NodeValues values{operandsRead(node, reads), given->values};
                          event::LedgerEntry row{.node = id.value};
                          static_cast<void>(lrp::applyRule(m_model, id, site, given->relevance, values, &row));
                          return {};
                      });
                  }));
        return std::optional(taken);
    }

    const Pass& m_pass;
    const BoundModel& m_model;
    const Graph& m_graph;
    const execute::RebuildingStore* m_store;
    bool m_hasOneRow;
    double m_budget;
    Stopwatch m_watch;
    std::clock_t m_start = std::clock();
    std::vector<Tensor> m_values; // by ValueId
    std::vector<Kind> m_kinds;
    std::map<std::string, std::vector<std::size_t>> m_kindsByWords;
    std::vector<std::size_t> m_kindOf;   // by NodeId
    std::vector<TakenTime> m_forward;    // by NodeId
    std::vector<bool> m_isRun;           // by NodeId: forward, so that its weights have been read
    std::map<std::string, Kind> m_rules; // by kind of node, and rule
    double m_timedFlops = 0;
    TakenTime m_timed;
    double m_otherFlops = 0;
    SampledTime m_made;
};

} // namespace

Result<SampledTime> sampledTime(const Pass& pass, const execute::RebuildingStore* store, bool hasOneRow, double budget)
{
    return Sampler(pass, store, hasOneRow, budget).run();
}

} // namespace retro::engine
