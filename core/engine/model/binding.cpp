// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/binding.h"

#include "core/engine/model/runnablepart.h"
#include "core/execute/control/unroll.h"
#include "core/ops/layerkind.h"
#include "core/ops/schema/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

namespace retro::engine
{

namespace
{

/// The rewritten graph, and what was fused inside its nodes.
struct Written
{
    std::shared_ptr<const graph::Graph> graph;
    std::vector<rewrite::FusedInBody> fused;
};

/// The rewritten graph with its computed constants in the digits that the precision has. Nodes and values have the same
/// ids in either.
base::Result<Written> withDigits(const LoadedModel& model, execute::Precision precision, const std::stop_token& stop)
{
    if (precision != execute::Precision::Double || model.graph() == model.rewritten.before) {
        return Written{model.graph(), model.rewritten.fusedInBodies};
    }
    rewrite::RewriteOptions options = model.rewritten.options;
    options.keepDigits = true;
    RETRO_TRY(rewrite::Rewritten wide, rewrite::rewrite(model.rewritten.before, options, stop));
    return Written{std::move(wide.graph), std::move(wide.fusedInBodies)};
}

/// A fused node as it runs; nothing where it is none.
std::optional<FusedInRun> fusedAt(const std::vector<rewrite::FusedInBody>& fused, const execute::Unrolled& flat,
                                  base::NodeId id)
{
    const execute::Origin& origin = flat.origins[id.index()];
    const auto at = std::find_if(fused.begin(), fused.end(), [&](const rewrite::FusedInBody& f) {
        return f.body.get() == origin.graph && f.body->node(origin.node).name == f.fused.node;
    });
    if (at == fused.end()) {
        return std::nullopt;
    }
    FusedInRun found{id, at->fused.members, {}};
    const std::vector<base::ValueId>& there = at->body->node(origin.node).inputs;
    const graph::Graph& members = *at->fused.members;
    for (const base::ValueId input : members.inputs()) {
        const auto slot = std::find(there.begin(), there.end(), *at->body->findValue(members.value(input).name));
        if (slot == there.end()) {
            return std::nullopt; // the fused node does not read what its members do; it runs as one
        }
        found.operands.push_back(flat.graph->node(id).inputs[static_cast<std::size_t>(slot - there.begin())]);
    }
    return found;
}

using Bound = std::shared_ptr<const execute::BoundModel>;

/// Binds graphs of one model for the same inputs, control flow, if there is any, written out.
class Binder
{
public:
    Binder(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs, execute::Precision precision,
           const std::stop_token& stop)
        : m_model(model), m_inputs(inputs), m_precision(precision), m_stop(stop)
    {}

    base::Result<Bound> bind(const std::shared_ptr<const graph::Graph>& graph, std::vector<std::string>* written) const
    {
        RETRO_CHECK(checkData(*graph));
        if (!execute::hasControlFlow(*graph)) {
            return bindFlat(graph);
        }
        RETRO_TRY(execute::Unrolled flat, execute::unroll(*graph, m_inputs, m_precision, m_stop));
        RETRO_TRY(Bound bound, bindFlat(flat.graph));
        if (written != nullptr) {
            *written = std::move(flat.steps);
        }
        return bound;
    }

private:
    base::Result<Bound> bindFlat(const std::shared_ptr<const graph::Graph>& graph) const
    {
        std::vector<ops::TensorType> types;
        for (const tensor::Tensor& input : m_inputs) {
            types.push_back({input.dtype(), input.shape()});
        }
        return execute::BoundModel::bind(graph, types, m_precision, inPrecision(*graph, m_inputs, m_precision), m_stop);
    }

    [[nodiscard]] base::Result<void> checkData(const graph::Graph& graph) const
    {
        const std::optional<std::string> absent = firstAbsent(graph);
        if (!absent) {
            return {};
        }
        return base::inputError(
            fmt::format("this constant has no data, so the graph can be drawn and planned for, but what needs it "
                        "cannot run: {}",
                        absenceOf(m_model, *absent)),
            "value '" + *absent + "'");
    }

    const LoadedModel& m_model;
    const std::vector<tensor::Tensor>& m_inputs;
    execute::Precision m_precision;
    const std::stop_token& m_stop;
};

/// Binds what can be had of a graph that cannot be bound as a whole.
class PartBinder
{
public:
    PartBinder(const LoadedModel& model, std::shared_ptr<const graph::Graph> graph, const Binder& binder,
               base::Error whole)
        : m_graph(std::move(graph)), m_binder(binder), m_whole(std::move(whole)), m_blocked(model, *m_graph)
    {
        for (const formats::InlinedFunction& function : model.notes.inlined) {
            if (function.name.starts_with("com.microsoft::")) {
                m_calls.insert(m_calls.end(), function.calls.begin(), function.calls.end());
            }
        }
    }

    base::Result<Bound> bind(const BindOptions& wish, std::vector<std::string>* written,
                             std::vector<std::string>& leftOut)
    {
        RETRO_TRY(std::vector<base::ValueId> wanted, wantedValues(wish));
        std::vector<base::ValueId> free = freeOutputs();
        if (wish.isEveryOutput ? free.empty() : wanted.empty()) {
            return m_whole;
        }
        if (!m_blocked.none()) {
            addEach(wanted, free);
            if (base::Result<Bound> bound = bindFor(free, written); bound.ok() || isFinal(bound)) {
                leftOut = m_blocked.lines();
                addLostOutputs(bound, leftOut);
                return bound;
            }
        }
        if (wish.isEveryOutput) {
            wanted = bindable(free);
        }
        base::Result<Bound> bound = wanted.empty() ? base::Result<Bound>(m_whole) : bindFor(wanted, written);
        if (bound.ok()) {
            leftOut = {"the rest of the model is left out: " + m_whole.text()};
            addLostOutputs(bound, leftOut);
        }
        return bound.ok() || isFinal(bound) ? std::move(bound) : base::Result<Bound>(m_whole);
    }

private:
    static bool isFinal(const base::Result<Bound>& bound)
    {
        return !bound.ok() && bound.error().code != base::ErrorCode::Input;
    }

    /// A line for each output that the part lacks.
    void addLostOutputs(const base::Result<Bound>& bound, std::vector<std::string>& lines) const
    {
        for (const base::ValueId output : m_graph->outputs()) {
            const std::string& name = m_graph->value(output).name;
            const bool isThere = bound.ok() && std::ranges::any_of((*bound)->graph().outputs(), [&](base::ValueId own) {
                                     return (*bound)->graph().value(own).name == name;
                                 });
            if (bound.ok() && !isThere) {
                lines.push_back(fmt::format("the output \"{}\" is not computed", name));
            }
        }
    }

    static void addEach(const std::vector<base::ValueId>& more, std::vector<base::ValueId>& values)
    {
        for (const base::ValueId value : more) {
            if (std::ranges::find(values, value) == values.end()) {
                values.push_back(value);
            }
        }
    }

    /// Values that are named, and the default target where that is wanted.
    base::Result<std::vector<base::ValueId>> wantedValues(const BindOptions& wish) const
    {
        std::vector<base::ValueId> wanted;
        for (const std::string& name : wish.values) {
            const std::optional<base::ValueId> value = m_graph->findValue(name);
            if (!value) {
                continue; // whoever asks for it says that there is none
            }
            if (const std::optional<base::Error> error = m_blocked.of(*value)) {
                return *error;
            }
            addEach({*value}, wanted);
        }
        if (wish.isDefaultWanted && !wish.isEveryOutput) {
            addEach(defaultOutput(), wanted);
        }
        return wanted;
    }

    /// The first output of floating elements that is not blocked; none where there is none.
    [[nodiscard]] std::vector<base::ValueId> defaultOutput() const
    {
        for (const base::ValueId output : m_graph->outputs()) {
            if (tensor::isFloating(m_graph->value(output).dtype) && !m_blocked.of(output)) {
                return {output};
            }
        }
        return {};
    }

    [[nodiscard]] std::vector<base::ValueId> freeOutputs() const
    {
        std::vector<base::ValueId> free;
        for (const base::ValueId output : m_graph->outputs()) {
            if (!m_blocked.of(output)) {
                addEach({output}, free);
            }
        }
        return free;
    }

    base::Result<Bound> bindFor(const std::vector<base::ValueId>& values, std::vector<std::string>* written) const
    {
        RETRO_TRY(const std::shared_ptr<const graph::Graph> part, partFor(*m_graph, values));
        if (part->nodeCount() == m_graph->nodeCount()) {
            return m_whole; // the same again
        }
        if (execute::isTooLong(m_whole) && std::ranges::any_of(part->nodes(), [&](const graph::Node& node) {
                const auto isNamed = [&](const char* form) {
                    return m_whole.where.find(fmt::format(fmt::runtime(form), node.name)) != std::string::npos;
                };
                return ops::isLoop(node) && (isNamed("node '{}'") || isNamed("node '{}/"));
            })) {
            return m_whole; // with the same loop
        }
        return m_binder.bind(part, written);
    }

    /// Those that can be bound by themselves. An operator that was written out as the file was read is one thing: when
    /// a step of it fails, what its other steps make is no result.
    [[nodiscard]] std::vector<base::ValueId> bindable(const std::vector<base::ValueId>& values) const
    {
        std::vector<base::ValueId> good;
        std::vector<std::string> broken = stepsOfCallIn(m_whole);
        for (const base::ValueId value : values) {
            if (const base::Result<Bound> bound = bindFor({value}, nullptr); bound.ok()) {
                good.push_back(value);
            } else {
                std::ranges::move(stepsOfCallIn(bound.error()), std::back_inserter(broken));
            }
        }
        std::erase_if(good, [&](base::ValueId value) { return needsStep(value, broken); });
        return good;
    }

    /// How the names of the steps begin that stand for the same call as the node of an error; empty where it is none.
    [[nodiscard]] std::vector<std::string> stepsOfCallIn(const base::Error& error) const
    {
        std::vector<std::string> found;
        for (const std::string& call : m_calls) {
            if (error.where.find(fmt::format("node '{}/", call)) != std::string::npos) {
                found.push_back(call + '/');
            }
        }
        return found;
    }

    /// True when one of the nodes that a value needs has a name that begins so.
    [[nodiscard]] bool needsStep(base::ValueId value, const std::vector<std::string>& names) const
    {
        const auto part =
            names.empty() ? base::Result<std::shared_ptr<const graph::Graph>>(nullptr) : partFor(*m_graph, {value});
        return part.ok() && *part != nullptr && std::ranges::any_of((*part)->nodes(), [&](const graph::Node& node) {
                   return std::ranges::any_of(names,
                                              [&](const std::string& name) { return node.name.starts_with(name); });
               });
    }

    std::shared_ptr<const graph::Graph> m_graph;
    const Binder& m_binder;
    base::Error m_whole;
    BlockedNodes m_blocked;
    std::vector<std::string> m_calls; ///< of operators that were written out
};

} // namespace

BindOptions bindOptionsFor(std::span<const TargetRequest> targets, std::span<const std::string> values)
{
    BindOptions wish{{values.begin(), values.end()}, false, false};
    for (const TargetRequest& target : targets) {
        if (target.namesValue()) {
            wish.values.push_back(target.value);
        }
        wish.isDefaultWanted = wish.isDefaultWanted || !target.namesValue();
    }
    return wish;
}

BindOptions bindOptionsFor(const TargetRequest& target) { return bindOptionsFor(std::span(&target, 1)); }

base::Result<std::shared_ptr<const execute::BoundModel>>
bindModel(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs, execute::Precision precision,
          std::vector<std::string>* written, const std::stop_token& stop, const BindOptions& wish,
          std::vector<std::string>* leftOut)
{
    const Binder binder(model, inputs, precision, stop);
    if (auto schemas = ops::expectSchemas(*model.rewritten.before); !schemas) { // rewrites may take out what is wrong
        return base::within(std::move(schemas).error(), model.path.string());
    }
    RETRO_TRY(auto graph, base::within(withDigits(model, precision, stop), model.path.string()));
    base::Result<Bound> bound = binder.bind(graph.graph, written);
    std::vector<std::string> lines;
    if (!bound.ok() && bound.error().code == base::ErrorCode::Input) {
        bound = PartBinder(model, graph.graph, binder, bound.error()).bind(wish, written, lines);
    }
    if (!bound) {
        return base::within(std::move(bound).error(), model.path.string());
    }
    if (leftOut != nullptr) {
        *leftOut = std::move(lines);
    }
    return bound;
}

base::Result<std::vector<FusedInRun>> fusedInRun(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs,
                                                 execute::Precision precision, const std::stop_token& stop)
{
    std::vector<FusedInRun> found;
    if (model.rewritten.fusedInBodies.empty()) {
        return found;
    }
    RETRO_TRY(const Written graph, withDigits(model, precision, stop));
    RETRO_TRY(const execute::Unrolled flat, execute::unroll(*graph.graph, inputs, precision, stop));
    for (std::size_t i = 0; i < flat.origins.size(); ++i) {
        if (auto fused = fusedAt(graph.fused, flat, base::NodeId(i))) {
            found.push_back(std::move(*fused));
        }
    }
    return found;
}

std::vector<tensor::Tensor> inPrecision(const graph::Graph& graph, const std::vector<tensor::Tensor>& inputs,
                                        execute::Precision precision)
{
    return execute::inRun(graph, inputs, precision);
}

} // namespace retro::engine
