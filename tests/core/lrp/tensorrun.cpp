// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/tensorrun.h"

#include "core/execute/forward.h"
#include "core/graph/graphbuilder.h"
#include "core/lrp/arithmetic/tensorarithmetic.h"
#include "core/ops/algebra.h"
#include "core/ops/exactsums.h"
#include "tests/core/lrp/eventlog.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace retro::lrptest
{

namespace
{

constexpr std::int64_t kOpset = 18;

struct OperatorName
{
    const char* op;
    const char* domain;
};

const std::map<std::string, OperatorName>& operatorNames()
{
    static const std::map<std::string, OperatorName> names{
        {"add", {"Add", ""}},         {"sub", {"Sub", ""}},
        {"mul", {"Mul", ""}},         {"mm", {"MatMul", ""}},
        {"t", {"Transpose", ""}},     {"neg", {"Neg", ""}},
        {"relu", {"Relu", ""}},       {"clone", {"Identity", ""}},
        {"cat", {"Concat", ""}},      {"stack", {"Stack", "ai.retrograde"}},
        {"sum", {"ReduceSum", ""}},   {"unbind", {"Unbind", "ai.retrograde"}},
        {"softmax", {"Softmax", ""}}, {"ckpt", {"Checkpoint", "ai.retrograde"}},
        {"slice", {"Slice", ""}},     {"gather", {"Gather", ""}},
        {"pad", {"Pad", ""}},         {"expand", {"Expand", ""}},
        {"split", {"Split", ""}},     {"where", {"Where", ""}},
        {"embed", {"Gather", ""}},    {"mean", {"ReduceMean", ""}},
    };
    return names;
}

std::vector<std::int64_t> lastTwoSwapped(std::size_t rank)
{
    std::vector<std::int64_t> order(rank);
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::swap(order[rank - 1], order[rank - 2]);
    return order;
}

// Builds the graph: leaves are inputs, constants initializers, values are called like their node (and output).
class ModelBuilder
{
public:
    explicit ModelBuilder(const SpecGraph& spec) : m_spec(spec), m_values(spec.nodes().size()) {}

    base::Result<graph::Graph> build();

private:
    base::Result<void> add(std::size_t index);
    base::Result<void> addOperator(const SpecNode& node, std::vector<ValueId>& outputs);
    void addAttributes(const SpecNode& node, graph::Node& made);
    void addConstants(const SpecNode& node, graph::Node& made);
    ValueId numbers(const SpecNode& node, const char* what, const std::vector<std::int64_t>& values);

    const SpecGraph& m_spec;
    graph::GraphBuilder m_builder{"case"};
    std::vector<std::vector<ValueId>> m_values; // per node and output
};

base::Result<graph::Graph> ModelBuilder::build()
{
    m_builder.setOpset("", kOpset);
    m_builder.setOpset("ai.retrograde", 1);
    for (std::size_t i = 0; i < m_spec.nodes().size(); ++i) {
        RETRO_CHECK(add(i));
    }
    for (const SpecOperand& root : m_spec.roots()) {
        m_builder.addOutput(m_values[root.node][root.output]);
    }
    return std::move(m_builder).build();
}

base::Result<void> ModelBuilder::add(std::size_t index)
{
    const SpecNode& node = m_spec.nodes()[index];
    if (node.op == "leaf") {
        m_values[index] = {m_builder.addInput(node.id, tensor::DType::Float64, node.shape)};
        return {};
    }
    if (node.op == "tokens") {
        m_values[index] = {m_builder.addInput(node.id, tensor::DType::Int64, node.shape)};
        return {};
    }
    if (node.op == "const") {
        m_values[index] = {m_builder.addConstant(node.id, Tensor::of<double>(node.shape, node.values))};
        return {};
    }
    return addOperator(node, m_values[index]);
}

base::Result<void> ModelBuilder::addOperator(const SpecNode& node, std::vector<ValueId>& outputs)
{
    const auto name = operatorNames().find(node.op);
    if (name == operatorNames().end()) {
        return base::inputError(fmt::format("unknown operation \"{}\"", node.op), node.id);
    }
    graph::Node made;
    made.op = name->second.op;
    made.domain = name->second.domain;
    made.name = node.id;
    made.opset = made.domain.empty() ? kOpset : 1;
    for (const SpecOperand& operand : node.operands) {
        made.inputs.push_back(m_values[operand.node][operand.output]);
    }
    for (std::uint32_t k = 0; k < node.outputs; ++k) {
        outputs.push_back(m_builder.addResult(fmt::format("{}:{}", node.id, k)));
    }
    made.outputs = outputs;
    addAttributes(node, made);
    addConstants(node, made);
    m_builder.addNode(std::move(made));
    return {};
}

void ModelBuilder::addAttributes(const SpecNode& node, graph::Node& made)
{
    if (node.op == "cat" || node.op == "stack" || node.op == "unbind" || node.op == "gather" || node.op == "split") {
        made.attributes.emplace("axis", node.axis);
    } else if (node.op == "softmax") {
        made.attributes.emplace("axis", std::int64_t{-1});
    } else if (node.op == "t") {
        made.attributes.emplace("perm", lastTwoSwapped(node.shape.size()));
    } else if (node.op == "sum" || node.op == "mean") {
        made.attributes.emplace("keepdims", std::int64_t{node.keepsAxis ? 1 : 0});
    }
    if (node.op == "split") {
        made.attributes.emplace("num_outputs", std::int64_t{2});
    }
}

ValueId ModelBuilder::numbers(const SpecNode& node, const char* what, const std::vector<std::int64_t>& values)
{
    return m_builder.addConstant(fmt::format("{}:{}", node.id, what),
                                 Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

// Operands that say what is done: axes, places, masks.
void ModelBuilder::addConstants(const SpecNode& node, graph::Node& made)
{
    const auto rank = node.shape.size();
    if (node.op == "sum" || node.op == "mean") {
        made.inputs.push_back(numbers(node, "axes", {node.axis}));
    } else if (node.op == "slice") { // backwards
        for (const auto& [what, value] : {std::pair{"starts", std::int64_t{-1}},
                                          {"ends", std::numeric_limits<std::int64_t>::min()},
                                          {"axes", node.axis},
                                          {"steps", std::int64_t{-1}}}) {
            made.inputs.push_back(numbers(node, what, {value}));
        }
    } else if (node.op == "gather") { // the last one alone, twice
        made.inputs.push_back(numbers(node, "indices", {1, 1}));
    } else if (node.op == "pad") {
        std::vector<std::int64_t> pads(2 * rank, 0);
        pads[rank + static_cast<std::size_t>(node.axis)] = 1;
        made.inputs.push_back(numbers(node, "pads", pads));
        made.inputs.push_back(m_builder.addConstant(node.id + ":fill", Tensor::full(tensor::DType::Float64, {}, 0.5)));
    } else if (node.op == "expand") {
        made.inputs.push_back(numbers(node, "shape", {node.shape.begin(), node.shape.end()}));
    } else if (node.op == "where") {
        tensor::TensorBuffer mask(tensor::DType::Bool, node.shape);
        for (std::int64_t i = 0; i < tensor::elementCount(node.shape); ++i) {
            mask.data<bool>()[i] = i % 3 != 0;
        }
        made.inputs.insert(made.inputs.begin(), m_builder.addConstant(node.id + ":mask", std::move(mask).freeze()));
    }
}

// Rules of the composite "dynamic"; each softmax has the variant that its node names.
base::Result<lrp::RuleAssignment> rulesFor(const SpecGraph& spec, const execute::BoundModel& model)
{
    std::map<std::string, lrp::RuleAssignment> byVariant;
    for (const char* variant : {"identity", "attn", "attn_tril"}) {
        RETRO_TRY(const lrp::Composite composite,
                  lrp::builtinComposite(fmt::format("dynamic:softmax={}", variant), model));
        RETRO_TRY(byVariant[variant], lrp::assignRules(composite, model));
    }
    lrp::RuleAssignment rules = byVariant["identity"];
    for (const SpecNode& node : spec.nodes()) {
        if (!node.variant.empty() && byVariant.count(node.variant) == 0) {
            return base::inputError(fmt::format("unknown rule \"{}\"", node.variant), node.id);
        }
        if (!node.variant.empty()) {
            const NodeId id = *model.graph().findNode(node.id);
            rules[id.index()] = byVariant[node.variant][id.index()];
        }
    }
    return rules;
}

base::Result<void> finish(lrp::Traversal& traversal)
{
    while (!traversal.finished()) {
        RETRO_CHECK(traversal.step());
    }
    return {};
}

// Keeps every tensor that a handle was given.
class TensorLog final : public event::Sink
{
public:
    void onEvent(const event::Event& event) override { events.push_back(event); }
    void onLedger(const event::LedgerEntry& entry) override { ledger.push_back(entry); }
    void onTensor(HandleId handle, const Tensor& tensor) override
    {
        tensors.resize(std::max<std::size_t>(tensors.size(), handle.index() + 1));
        tensors[handle.index()] = tensor;
    }

    std::vector<event::Event> events;
    std::vector<Tensor> tensors;
    std::vector<event::LedgerEntry> ledger;
};

/// All amounts of a row without their signs.
double bookedIn(const event::LedgerEntry& row)
{
    double booked = row.magnitude + std::abs(row.handedOn);
    for (const double amount : row.causes) {
        booked += std::abs(amount);
    }
    return booked;
}

/// Σ|R| of everything that relevance did: every row, what arrived at leaves. Not finite where a large graph leaves the
/// range of double.
double movedIn(const TensorCase& tensorCase, const lrp::RelevanceTable& relevance,
               const std::vector<event::LedgerEntry>& ledger)
{
    double moved = 0;
    for (const event::LedgerEntry& row : ledger) {
        moved += bookedIn(row);
    }
    for (const NodeId node : tensorCase.graph.postOrder()) {
        if (tensorCase.graph.children(node).empty()) {
            moved += ops::algebra::sumAbsolute(relevance[node.index()].front()); // large parts may cancel
        }
    }
    return moved;
}

/// What leaves and booked causes miss of the start, summed exactly.
double restIn(const TensorCase& tensorCase, const lrp::RelevanceTable& relevance,
              const std::vector<event::LedgerEntry>& ledger)
{
    base::ExactSum rest;
    for (const Tensor& start : tensorCase.starts()) {
        rest.add(ops::algebra::exactSum(start));
    }
    for (const event::LedgerEntry& row : ledger) {
        for (const double amount : row.causes) {
            rest.add(-amount);
        }
    }
    for (const NodeId node : tensorCase.graph.postOrder()) {
        if (tensorCase.graph.children(node).empty()) {
            rest.subtract(ops::algebra::exactSum(relevance[node.index()].front()));
        }
    }
    return rest.value();
}

} // namespace

base::Result<TensorCase> tensorCaseOf(const SpecGraph& spec, const std::vector<double>& start)
{
    RETRO_TRY(graph::Graph built, ModelBuilder(spec).build());
    TensorCase made;
    std::vector<ops::TensorType> types;
    for (const SpecNode& node : spec.nodes()) {
        if (node.op == "leaf") {
            made.inputs.push_back(Tensor::of<double>(node.shape, node.values));
            types.push_back({tensor::DType::Float64, node.shape});
        } else if (node.op == "tokens") {
            made.inputs.push_back(Tensor::of<double>(node.shape, node.values).to(tensor::DType::Int64));
            types.push_back({tensor::DType::Int64, node.shape});
        }
    }
    RETRO_TRY(made.model, execute::BoundModel::bind(std::make_shared<const graph::Graph>(std::move(built)), types,
                                                    execute::Precision::Double));
    RETRO_TRY(made.rules, rulesFor(spec, *made.model));
    const std::span<const ValueId> targets = made.model->graph().outputs();
    RETRO_TRY(made.graph, lrp::TraversalGraph::build(*made.model, targets));
    for (const ValueId also : targets.subspan(1)) {
        made.alsoStarts.push_back(Tensor::full(tensor::DType::Float64, made.model->typeOf(also).shape, 1));
    }
    const ValueId target = targets.front();
    const tensor::Shape& shape = made.model->typeOf(target).shape;
    if (!start.empty() && static_cast<std::int64_t>(start.size()) != tensor::elementCount(shape)) {
        return base::inputError(fmt::format("{} start values for the shape {}", start.size(), tensor::toText(shape)));
    }
    made.start = start.empty() ? Tensor::full(tensor::DType::Float64, shape, 1) : Tensor::of<double>(shape, start);
    return made;
}

std::vector<Tensor> TensorCase::starts() const
{
    std::vector<Tensor> all{start};
    all.insert(all.end(), alsoStarts.begin(), alsoStarts.end());
    return all;
}

base::Result<TensorRun> runTensors(const TensorCase& tensorCase, execute::SavePolicy policy,
                                   const lrp::TraversalOptions& options)
{
    return runTensors(tensorCase, std::make_shared<const execute::SavePlan>(*tensorCase.model, policy), options);
}

std::vector<lrp::NodeOutput> checkpointsOf(const TensorCase& tensorCase, const std::vector<SpecNode>& nodes)
{
    std::vector<lrp::NodeOutput> checkpoints;
    for (const SpecNode& node : nodes) {
        const auto found = tensorCase.model->graph().findNode(node.id);
        if (node.op == "ckpt" && found && tensorCase.graph.contains(*found)) {
            checkpoints.push_back({*found, 0});
        }
    }
    return checkpoints;
}

base::Result<TensorRun> runTensors(const TensorCase& tensorCase, std::shared_ptr<const execute::SavePlan> plan,
                                   const lrp::TraversalOptions& options)
{
    RETRO_TRY(const execute::ForwardResult forward,
              execute::forward(tensorCase.model, tensorCase.inputs, std::move(plan)));
    TensorLog log;
    TensorRun run;
    lrp::TensorArithmetic arithmetic(forward.saved, tensorCase.rules, tensorCase.graph, log, true);
    std::vector<HandleId> starts;
    for (const Tensor& start : tensorCase.starts()) {
        starts.push_back(arithmetic.adopt(start));
    }
    lrp::Traversal traversal(tensorCase.graph, arithmetic, log, starts, options);
    RETRO_CHECK(finish(traversal));
    run.counts = traversal.counts();
    run.relevance.resize(tensorCase.graph.size());
    for (const NodeId node : tensorCase.graph.postOrder()) {
        for (std::uint32_t k = 0; k < tensorCase.graph.outputCount(node); ++k) {
            const HandleId handle = traversal.relevance(node, k);
            run.relevance[node.index()].push_back(handle.isValid() ? arithmetic.tensor(handle) : Tensor());
        }
    }
    run.events = std::move(log.events);
    run.tensors = std::move(log.tensors);
    run.ledger = std::move(log.ledger);
    return run;
}

base::Result<lrp::RelevanceTable> runOracle(const TensorCase& tensorCase)
{
    RETRO_TRY(const execute::ForwardResult forward,
              execute::forward(tensorCase.model, tensorCase.inputs, execute::SavePolicy::All));
    return lrp::oracle(forward.saved, tensorCase.rules, tensorCase.graph, tensorCase.starts());
}

std::string firstDifference(const TensorCase& tensorCase, const lrp::RelevanceTable& a, const lrp::RelevanceTable& b)
{
    for (const NodeId node : tensorCase.graph.postOrder()) {
        for (std::size_t k = 0; k < a[node.index()].size(); ++k) {
            const Tensor& left = a[node.index()][k];
            const Tensor& right = b[node.index()][k];
            if (left.isValid() != right.isValid() || (left.isValid() && !left.bitEqual(right))) {
                return fmt::format("{} output {}", tensorCase.model->graph().labelOf(node), k);
            }
        }
    }
    return {};
}

std::string faultInLedger(const TensorCase& tensorCase, const lrp::RelevanceTable& relevance,
                          const std::vector<event::LedgerEntry>& ledger)
{
    constexpr double kTolerance = 1e-9;
    constexpr double kRowTolerance = 1e-12; // the amounts of a row are rounded once each
    constexpr double kMostMoved = 1e18;     // times the start: beyond it 106 bits do not hold 1e-9 of the start
    double start = 0;
    for (const Tensor& each : tensorCase.starts()) {
        start += ops::algebra::sumAbsolute(each);
    }
    const double moved = movedIn(tensorCase, relevance, ledger);
    if (!(moved <= kMostMoved * start)) {
        return {};
    }
    for (const event::LedgerEntry& row : ledger) {
        if (!(std::abs(row.unexplained()) <= kRowTolerance * bookedIn(row))) {
            return fmt::format("{} of {} at {} have no cause", row.unexplained(), row.arrived,
                               tensorCase.model->graph().labelOf(NodeId(row.node)));
        }
    }
    const double rest = restIn(tensorCase, relevance, ledger);
    return std::abs(rest) <= kTolerance * start
               ? std::string()
               : fmt::format("leaves and causes miss the start by {} of {}", rest, start);
}

std::string faultBetween(const TensorCase& tensorCase, const TensorRun& promise, const TensorRun& all,
                         const lrp::RelevanceTable& oracle)
{
    if (const std::string where = firstDifference(tensorCase, promise.relevance, oracle); !where.empty()) {
        return "promise engine and oracle differ at " + where;
    }
    if (const std::string where = firstDifference(tensorCase, all.relevance, oracle); !where.empty()) {
        return "policy all and oracle differ at " + where;
    }
    if (promise.counts.visitsMax > 3 || all.counts.visitsMax > 1 || all.counts.promises > 0) {
        return fmt::format("{} and {} visits of one node, {} promises with everything saved", promise.counts.visitsMax,
                           all.counts.visitsMax, all.counts.promises);
    }
    for (const TensorRun* run : {&promise, &all}) {
        if (std::string fault = inconsistency(run->events); !fault.empty()) {
            return fault;
        }
        if (std::string fault = faultInLedger(tensorCase, run->relevance, run->ledger); !fault.empty()) {
            return fault;
        }
    }
    return {};
}

std::string faultOnTensors(const SpecGraph& spec)
{
    return faultOnTensors(spec, [](const auto&...) { return std::string(); });
}

std::string faultOnTensors(const SpecGraph& spec, const FaultOfRuns& more)
{
    const auto made = tensorCaseOf(spec, {});
    if (!made) {
        return made.error().text();
    }
    const auto promise = runTensors(*made, execute::SavePolicy::Autograd);
    const auto all = runTensors(*made, execute::SavePolicy::All);
    const auto oracle = runOracle(*made);
    if (!promise || !all || !oracle) {
        return (!promise ? promise.error() : !all ? all.error() : oracle.error()).text();
    }
    const std::string fault = faultBetween(*made, *promise, *all, *oracle);
    return fault.empty() ? more(*made, *promise, *all) : fault;
}

} // namespace retro::lrptest
