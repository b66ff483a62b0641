// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/randomgraph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <utility>

namespace retro::lrptest
{

namespace
{

// An operation: ranks of its operands and of its result, and how often it is drawn.
struct Kind
{
    std::string_view op;
    std::vector<std::uint32_t> operandRanks;
    std::uint32_t rank;
    std::uint32_t outputs;
    unsigned weight;
};

const std::vector<Kind>& kinds()
{
    static const std::vector<Kind> list{
        {"add", {2, 2}, 2, 1, 6}, {"add", {1, 1}, 1, 1, 2},  {"sub", {2, 2}, 2, 1, 2}, {"sub", {1, 1}, 1, 1, 1},
        {"mul", {2, 2}, 2, 1, 3}, {"mul", {1, 1}, 1, 1, 1},  {"mm", {2, 2}, 2, 1, 3},  {"t", {2}, 2, 1, 2},
        {"neg", {2}, 2, 1, 2},    {"neg", {1}, 1, 1, 1},     {"relu", {2}, 2, 1, 2},   {"relu", {1}, 1, 1, 1},
        {"clone", {2}, 2, 1, 1},  {"ckpt", {2}, 2, 1, 1},    {"unbind", {2}, 1, 2, 3}, {"stack", {1, 1}, 2, 1, 4},
        {"sum", {2}, 1, 1, 1},    {"softmax", {2}, 2, 1, 1},
    };
    return list;
}

class Generator
{
public:
    explicit Generator(std::uint64_t seed) : m_random(seed) {}

    SpecGraph generate(std::size_t operations);

private:
    std::size_t below(std::size_t n) { return m_random() % n; } // the same on every platform, unlike distributions
    void addSource(const char* op, std::uint32_t rank);
    void addOperation(const Kind& kind);
    const Kind& drawKind();
    SpecOperand drawOperand(std::uint32_t rank);
    void joinLooseEnds();
    void addNode(SpecNode node, std::uint32_t rank = 2);

    std::mt19937_64 m_random;
    std::vector<SpecNode> m_nodes;
    std::array<std::vector<SpecOperand>, 3> m_values; // by rank
    std::vector<bool> m_read;
    std::vector<std::uint32_t> m_ranks;
};

SpecGraph Generator::generate(std::size_t operations)
{
    for (std::uint32_t i = 0; i < 3; ++i) {
        addSource("leaf", 2);
    }
    addSource("leaf", 1);
    addSource("const", 2);
    addSource("const", 1);
    for (std::size_t i = 0; i < operations; ++i) {
        addOperation(drawKind());
    }
    joinLooseEnds();
    return SpecGraph(std::move(m_nodes));
}

void Generator::addNode(SpecNode node, std::uint32_t rank)
{
    node.id = fmt::format("n{}", m_nodes.size());
    for (const SpecOperand& operand : node.operands) {
        m_read[operand.node] = true;
    }
    for (std::uint32_t k = 0; k < node.outputs; ++k) {
        m_values[rank].push_back({m_nodes.size(), k});
    }
    m_nodes.push_back(std::move(node));
    m_read.push_back(false);
    m_ranks.push_back(rank);
}

void Generator::addSource(const char* op, std::uint32_t rank)
{
    SpecNode node;
    node.op = op;
    node.shape.assign(rank, 2);
    // quarters: sums and products of a few of them are exact, and some are zero
    for (std::uint32_t i = 0; i < (rank == 2 ? 4U : 2U); ++i) {
        node.values.push_back(static_cast<double>(below(17)) / 4 - 2);
    }
    addNode(std::move(node), rank);
}

const Kind& Generator::drawKind()
{
    unsigned total = 0;
    for (const Kind& kind : kinds()) {
        total += kind.weight;
    }
    std::size_t ticket = below(total);
    std::size_t i = 0;
    while (ticket >= kinds()[i].weight) {
        ticket -= kinds()[i++].weight;
    }
    return kinds()[i];
}

// Half of all operands are among the last few values, so that graphs grow deep as well as dense.
SpecOperand Generator::drawOperand(std::uint32_t rank)
{
    const std::vector<SpecOperand>& values = m_values[rank];
    const std::size_t recent = below(2) == 0 ? std::min<std::size_t>(values.size(), 4) : values.size();
    return values[values.size() - 1 - below(recent)];
}

void Generator::addOperation(const Kind& kind)
{
    SpecNode node;
    node.op = kind.op;
    node.outputs = kind.outputs;
    for (const std::uint32_t rank : kind.operandRanks) {
        node.operands.push_back(drawOperand(rank));
    }
    if (kind.op == "softmax") {
        static constexpr std::array<const char*, 3> kVariants{"identity", "attn", "attn_tril"};
        node.variant = kVariants[below(kVariants.size())];
    }
    node.axis = static_cast<std::int64_t>(below(2));
    addNode(std::move(node), kind.rank);
}

// Everything that nobody reads becomes part of the result.
void Generator::joinLooseEnds()
{
    const std::size_t count = m_nodes.size();
    SpecOperand root{0, 0}; // the first leaf makes sure that the result is tracked
    for (std::size_t i = 1; i < count; ++i) {
        if (m_read[i] || m_nodes[i].op == "const") {
            continue;
        }
        SpecOperand end{i, 0};
        if (m_ranks[i] == 1) {
            SpecNode stack;
            stack.op = "stack";
            stack.operands = {end, {i, m_nodes[i].outputs - 1}};
            addNode(std::move(stack));
            end = {m_nodes.size() - 1, 0};
        }
        SpecNode join;
        join.op = below(2) == 0 ? "add" : "mul";
        join.operands = {root, end};
        addNode(std::move(join));
        root = {m_nodes.size() - 1, 0};
    }
    if (root.node == 0) {
        SpecNode last;
        last.op = "clone";
        last.operands = {root};
        addNode(std::move(last));
    }
}

// Keeps what the last node depends on.
std::vector<SpecNode> pruned(const std::vector<SpecNode>& nodes)
{
    std::vector<bool> needed(nodes.size(), false);
    needed.back() = true;
    for (std::size_t i = nodes.size(); i-- > 0;) {
        for (const SpecOperand& operand : nodes[i].operands) {
            needed[operand.node] = needed[operand.node] || needed[i];
        }
    }
    std::vector<std::size_t> position(nodes.size());
    std::vector<SpecNode> kept;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!needed[i]) {
            continue;
        }
        position[i] = kept.size();
        kept.push_back(nodes[i]);
        for (SpecOperand& operand : kept.back().operands) {
            operand.node = position[operand.node];
        }
    }
    return kept;
}

} // namespace

SpecGraph randomGraph(std::uint64_t seed, std::size_t operations)
{
    return SpecGraph(pruned(Generator(seed).generate(operations).nodes()));
}

std::optional<SpecGraph> withLeafAt(const SpecGraph& spec, std::size_t node)
{
    std::vector<SpecNode> nodes = spec.nodes();
    SpecNode& replaced = nodes[node];
    if (replaced.operands.empty() || replaced.outputs > 1 || node + 1 == nodes.size()) {
        return std::nullopt;
    }
    replaced.op = "leaf";
    replaced.operands.clear();
    replaced.values.assign(static_cast<std::size_t>(tensor::elementCount(replaced.shape)), 1.5);
    return SpecGraph(pruned(nodes));
}

std::optional<SpecGraph> withoutNode(const SpecGraph& spec, std::size_t node)
{
    std::vector<SpecNode> nodes = spec.nodes();
    const SpecNode dropped = nodes[node];
    if (dropped.operands.empty() || dropped.outputs > 1 || node + 1 == nodes.size() ||
        nodes[dropped.operands.front().node].shape != dropped.shape) {
        return std::nullopt;
    }
    for (SpecNode& reader : nodes) {
        for (SpecOperand& operand : reader.operands) {
            operand = operand.node == node ? dropped.operands.front() : operand;
        }
    }
    return SpecGraph(pruned(nodes));
}

SpecGraph smallest(SpecGraph failing, const std::function<bool(const SpecGraph&)>& fails)
{
    bool smaller = true;
    while (smaller) {
        smaller = false;
        for (std::size_t i = failing.nodes().size(); i-- > 0 && !smaller;) {
            for (const auto& reduce : {&withLeafAt, &withoutNode}) {
                if (auto candidate = reduce(failing, i); candidate && fails(*candidate)) {
                    failing = std::move(*candidate);
                    smaller = true;
                    break;
                }
            }
        }
    }
    return failing;
}

std::string firstFailure(std::uint64_t firstSeed, std::size_t count, std::size_t most, const GraphCheck& check)
{
    constexpr std::uint64_t kSpread = 7919; // a prime: sizes do not follow the seeds
    constexpr std::uint64_t kUsual = 60;
    for (std::uint64_t seed = firstSeed; seed < firstSeed + count; ++seed) {
        const std::uint64_t bound = seed % 16 == 0 ? most : kUsual;
        const SpecGraph spec = randomGraph(seed, 1 + seed * kSpread % bound);
        if (!check(spec, seed).empty()) {
            const SpecGraph small = smallest(spec, [&](const SpecGraph& graph) { return !check(graph, seed).empty(); });
            return fmt::format("seed {}: {}\n{}", seed, check(small, seed), toText(small));
        }
    }
    return {};
}

std::string toText(const SpecGraph& spec)
{
    std::string text;
    for (const SpecNode& node : spec.nodes()) {
        text += fmt::format("{} = {}", node.id, node.op);
        for (const SpecOperand& operand : node.operands) {
            text += fmt::format(" {}.{}", spec.nodes()[operand.node].id, operand.output);
        }
        text += node.variant.empty() ? "\n" : " " + node.variant + "\n";
    }
    return text;
}

} // namespace retro::lrptest
