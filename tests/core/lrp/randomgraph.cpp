// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/randomgraph.h"

#include <fmt/format.h>

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <random>
#include <sstream>
#include <string_view>
#include <utility>

namespace retro::lrptest
{

namespace
{

// Shapes of values.
enum Form : std::uint32_t { kRow = 1, kSquare = 2, kFlat = 3 }; // [2], [2, 2], [1, 2]

tensor::Shape shapeOf(std::uint32_t form)
{
    return form == kRow ? tensor::Shape{2} : form == kSquare ? tensor::Shape{2, 2} : tensor::Shape{1, 2};
}

constexpr std::int64_t kAnyAxis = -1;

// An operation: forms of its operands and of its result, and how often it is drawn.
struct Kind
{
    std::string_view op;
    std::vector<std::uint32_t> operands;
    std::uint32_t form;
    std::uint32_t outputs;
    unsigned weight;
    std::int64_t axis = kAnyAxis;
};

const std::vector<Kind>& kinds()
{
    static const std::vector<Kind> list{
        {"add", {kSquare, kSquare}, kSquare, 1, 6},
        {"add", {kRow, kRow}, kRow, 1, 2},
        {"add", {kSquare, kFlat}, kSquare, 1, 1},
        {"sub", {kSquare, kSquare}, kSquare, 1, 2},
        {"sub", {kRow, kRow}, kRow, 1, 1},
        {"sub", {kFlat, kSquare}, kSquare, 1, 1},
        {"mul", {kSquare, kSquare}, kSquare, 1, 3},
        {"mul", {kRow, kRow}, kRow, 1, 1},
        {"mm", {kSquare, kSquare}, kSquare, 1, 3},
        {"t", {kSquare}, kSquare, 1, 2},
        {"neg", {kSquare}, kSquare, 1, 2},
        {"neg", {kRow}, kRow, 1, 1},
        {"relu", {kSquare}, kSquare, 1, 2},
        {"relu", {kRow}, kRow, 1, 1},
        {"relu", {kFlat}, kFlat, 1, 1},
        {"clone", {kSquare}, kSquare, 1, 1},
        {"ckpt", {kSquare}, kSquare, 1, 1},
        {"unbind", {kSquare}, kRow, 2, 3},
        {"split", {kSquare}, kFlat, 2, 2, 0},
        {"stack", {kRow, kRow}, kSquare, 1, 4},
        {"cat", {kFlat, kFlat}, kSquare, 1, 2, 0},
        {"sum", {kSquare}, kRow, 1, 1},
        {"mean", {kSquare}, kRow, 1, 1},
        {"softmax", {kSquare}, kSquare, 1, 1},
        {"slice", {kSquare}, kSquare, 1, 1},
        {"gather", {kSquare}, kSquare, 1, 1},
        {"pad", {kFlat}, kSquare, 1, 1, 0},
        {"expand", {kFlat}, kSquare, 1, 1, 0},
        {"where", {kSquare, kSquare}, kSquare, 1, 1},
        {"embed", {}, kSquare, 1, 1},
    };
    return list;
}

// Where every graph has its table and its tokens.
constexpr std::size_t kTable = 4;
constexpr std::size_t kTokens = 6;

class Generator
{
public:
    SpecGraph generate(std::span<const OperationCode> codes);

private:
    std::size_t below(std::size_t n) { return m_random() % n; } // the same on every platform, unlike distributions
    void addSource(const char* op, std::uint32_t form);
    void addTokens();
    void addOperation(const Kind& kind);
    const Kind& drawKind();
    SpecOperand drawOperand(std::uint32_t form);
    void joinLooseEnds();
    SpecOperand asSquare(SpecOperand end);
    std::vector<SpecOperand> drawRoots(const SpecGraph& spec);
    void addNode(SpecNode node, std::uint32_t form = kSquare);

    std::mt19937_64 m_random;
    std::vector<SpecNode> m_nodes;
    std::array<std::vector<SpecOperand>, 4> m_values; // by form
    std::vector<bool> m_read;
    std::vector<std::uint32_t> m_forms;
};

SpecGraph Generator::generate(std::span<const OperationCode> codes)
{
    m_random.seed(codes.size());
    for (std::uint32_t i = 0; i < 3; ++i) {
        addSource("leaf", kSquare);
    }
    addSource("leaf", kRow);
    addSource("const", kSquare);
    addSource("const", kRow);
    addTokens();
    addSource("leaf", kFlat);
    for (const OperationCode code : codes) {
        m_random.seed(code);
        addOperation(drawKind());
    }
    joinLooseEnds();
    const SpecGraph spec(m_nodes);
    return SpecGraph(m_nodes, drawRoots(spec));
}

// Every third graph starts relevance at up to two more values, somewhere in it.
std::vector<SpecOperand> Generator::drawRoots(const SpecGraph& spec)
{
    std::vector<SpecOperand> roots;
    for (std::size_t left = below(3) == 0 ? 1 + below(2) : 0; left > 0; --left) {
        const SpecOperand drawn = drawOperand(1 + static_cast<std::uint32_t>(below(3)));
        const bool isNew = std::find(roots.begin(), roots.end(), drawn) == roots.end() && drawn != spec.roots().front();
        if (isNew && spec.isTracked(drawn.node)) {
            roots.push_back(drawn);
        }
    }
    return roots;
}

void Generator::addNode(SpecNode node, std::uint32_t form)
{
    node.id = fmt::format("n{}", m_nodes.size());
    for (const SpecOperand& operand : node.operands) {
        m_read[operand.node] = true;
    }
    for (std::uint32_t k = 0; k < node.outputs; ++k) {
        m_values[form].push_back({m_nodes.size(), k});
    }
    m_nodes.push_back(std::move(node));
    m_read.push_back(false);
    m_forms.push_back(form);
}

void Generator::addSource(const char* op, std::uint32_t form)
{
    SpecNode node;
    node.op = op;
    node.shape = shapeOf(form);
    // quarters: sums and products of a few of them are exact, and some are zero
    for (std::int64_t i = 0; i < tensor::elementCount(node.shape); ++i) {
        node.values.push_back(static_cast<double>(below(17)) / 4 - 2);
    }
    addNode(std::move(node), form);
}

// Nobody but embeddings reads them.
void Generator::addTokens()
{
    SpecNode node;
    node.op = "tokens";
    node.id = fmt::format("n{}", m_nodes.size());
    node.shape = {2};
    node.values = {1, static_cast<double>(below(2))};
    m_nodes.push_back(std::move(node));
    m_read.push_back(true);
    m_forms.push_back(0);
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
SpecOperand Generator::drawOperand(std::uint32_t form)
{
    const std::vector<SpecOperand>& values = m_values[form];
    const std::size_t recent = below(2) == 0 ? std::min<std::size_t>(values.size(), 4) : values.size();
    return values[values.size() - 1 - below(recent)];
}

void Generator::addOperation(const Kind& kind)
{
    SpecNode node;
    node.op = kind.op;
    node.outputs = kind.outputs;
    for (const std::uint32_t form : kind.operands) {
        node.operands.push_back(drawOperand(form));
    }
    if (kind.op == "embed") {
        node.operands = {{kTable, 0}, {kTokens, 0}};
    }
    if (kind.op == "softmax") {
        static constexpr std::array<const char*, 3> kVariants{"identity", "attn", "attn_tril"};
        node.variant = kVariants[below(kVariants.size())];
    }
    node.axis = kind.axis == kAnyAxis ? static_cast<std::int64_t>(below(2)) : kind.axis;
    addNode(std::move(node), kind.form);
}

// Stacks rows and joins flat values.
SpecOperand Generator::asSquare(SpecOperand end)
{
    if (m_forms[end.node] == kSquare) {
        return end;
    }
    SpecNode joined;
    joined.op = m_forms[end.node] == kRow ? "stack" : "cat";
    joined.operands = {end, {end.node, m_nodes[end.node].outputs - 1}};
    addNode(std::move(joined));
    return {m_nodes.size() - 1, 0};
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
        const SpecOperand end = asSquare({i, 0});
        SpecNode join;
        join.op = below(2) == 0 ? "add" : "mul";
        join.operands = {root, end};
        addNode(std::move(join));
        root = {m_nodes.size() - 1, 0};
    }
}

// Keeps what the roots depend on.
SpecGraph pruned(const SpecGraph& spec)
{
    const std::vector<SpecNode>& nodes = spec.nodes();
    std::vector<bool> needed(nodes.size(), false);
    for (const SpecOperand& root : spec.roots()) {
        needed[root.node] = true;
    }
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
    std::vector<SpecOperand> also(spec.roots().begin() + 1, spec.roots().end());
    for (SpecOperand& root : also) {
        root.node = position[root.node];
    }
    return SpecGraph(std::move(kept), std::move(also));
}

} // namespace

SpecGraph graphOf(std::span<const OperationCode> codes) { return pruned(Generator().generate(codes)); }

SpecGraph randomGraph(std::uint64_t seed, std::size_t operations)
{
    std::mt19937_64 random(seed);
    std::vector<OperationCode> codes(operations);
    std::ranges::generate(codes, random);
    return graphOf(codes);
}

std::string firstFailure(std::uint64_t seed, std::size_t count, std::size_t most, const GraphCheck& check)
{
    constexpr std::size_t kUsual = 60;
    constexpr std::size_t kOneIn = 16;
    const auto codes = [](std::size_t size) {
        return rc::gen::resize(static_cast<int>(size), rc::gen::arbitrary<std::vector<OperationCode>>());
    };
    const auto drawn =
        rc::gen::weightedOneOf<std::vector<OperationCode>>({{kOneIn - 1, codes(kUsual)}, {1, codes(most)}});
    const auto property = [&] {
        const std::vector<OperationCode> found = *drawn;
        const SpecGraph spec = graphOf(found);
        if (const std::string fault = check(spec, found.empty() ? 0 : found.front()); !fault.empty()) {
            RC_FAIL(fault + "\n" + toText(spec));
        }
    };
    rc::detail::TestParams parameters;
    parameters.seed = seed;
    parameters.maxSuccess = static_cast<int>(count);
    std::ostringstream text;
    const rc::detail::TestResult result = rc::detail::checkTestable(property, rc::detail::TestMetadata(), parameters);
    rc::detail::printResultMessage(result, text);
    return result.is<rc::detail::SuccessResult>() ? std::string() : text.str();
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
    for (const SpecOperand& root : spec.roots()) {
        text += fmt::format("start at {}.{}\n", spec.nodes()[root.node].id, root.output);
    }
    return text;
}

} // namespace retro::lrptest
