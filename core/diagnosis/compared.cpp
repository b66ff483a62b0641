// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/compared.h"

#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace retro::diagnosis
{

using graph::Attribute;
using graph::Graph;
using graph::Node;

namespace
{

/// Relative difference, of the largest element, beyond which constants are not the same (section 4.8).
constexpr double kConstantTolerance = 1e-6;

std::shared_ptr<ModelFacts> comparable(const Facts& facts, bool isOfFile)
{
    if (isOfFile) {
        return facts.sources().model;
    }
    return facts.pass() != nullptr ? std::make_shared<ModelFacts>(facts.pass()->graph) : nullptr;
}

std::string attributeText(const Attribute& attribute)
{
    struct Text
    {
        std::string operator()(std::int64_t number) const { return std::to_string(number); }
        std::string operator()(double number) const { return fmt::format("{:g}", number); }
        std::string operator()(const std::string& text) const { return "\"" + text + "\""; }
        std::string operator()(const Tensor& tensor) const { return "a tensor of " + tensor::toText(tensor.shape()); }
        std::string operator()(const std::vector<std::int64_t>& list) const
        {
            return fmt::format("{}", fmt::join(list, ", "));
        }
        std::string operator()(const std::vector<double>& list) const
        {
            return fmt::format("{}", fmt::join(list, ", "));
        }
        std::string operator()(const std::vector<std::string>& list) const
        {
            return fmt::format("{}", fmt::join(list, ", "));
        }
        std::string operator()(const graph::Subgraph&) const { return "a graph"; }
    };
    return std::visit(Text(), attribute);
}

/// What an attribute counts as that is not written; "none" where the definition says nothing of the kind.
std::string usualText(const std::string& name)
{
    using Usual = std::pair<std::string_view, std::string_view>;
    static constexpr std::array kUsual{Usual{"group", "1"},          Usual{"transA", "0"},
                                       Usual{"transB", "0"},         Usual{"alpha", "1"},
                                       Usual{"beta", "1"},           Usual{"ceil_mode", "0"},
                                       Usual{"epsilon", "1e-05"},    Usual{"momentum", "0.9"},
                                       Usual{"training_mode", "0"},  Usual{"keepdims", "1"},
                                       Usual{"allowzero", "0"},      Usual{"count_include_pad", "0"},
                                       Usual{"storage_order", "0"},  Usual{"auto_pad", "\"NOTSET\""},
                                       Usual{"mode", "\"constant\""}};
    const auto at = std::ranges::find(kUsual, std::string_view(name), &Usual::first);
    return at == kUsual.end() ? "none" : std::string(at->second);
}

/// Lists that say what is usual anyway: strides and dilations of 1, pads of 0, the kernel that follows from a weight.
bool isUsualList(const std::string& name, const Attribute& attribute)
{
    const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute);
    const std::int64_t usual = name == "pads" ? 0 : 1;
    const bool isKnown = name == "pads" || name == "strides" || name == "dilations";
    return list != nullptr &&
           ((isKnown && std::ranges::all_of(*list, [usual](std::int64_t x) { return x == usual; })) ||
            name == "kernel_shape");
}

bool isSameAttribute(const Attribute& a, const Attribute& b)
{
    if (a.index() != b.index()) {
        return false;
    }
    if (const auto* tensor = std::get_if<Tensor>(&a)) {
        return tensor->bitEqual(std::get<Tensor>(b));
    }
    return std::holds_alternative<graph::Subgraph>(a) || attributeText(a) == attributeText(b);
}

/// The largest size of a finite number.
double largestFinite(const std::vector<double>& numbers)
{
    double largest = 0;
    for (const double x : numbers) {
        largest = std::max(largest, std::isfinite(x) ? std::abs(x) : 0);
    }
    return largest;
}

/// Where the two differ by more than `slack`; two that are no numbers are the same.
std::vector<std::int64_t> positionsApart(const std::vector<double>& a, const std::vector<double>& b, double slack)
{
    std::vector<std::int64_t> positions;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const bool isSame = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || std::abs(a[i] - b[i]) <= slack;
        if (!isSame) {
            positions.push_back(static_cast<std::int64_t>(i));
        }
    }
    return positions;
}

class Comparison
{
public:
    Comparison(std::shared_ptr<ModelFacts> own, std::shared_ptr<ModelFacts> other)
    {
        m_made.own = std::move(own);
        m_made.other = std::move(other);
        m_made.match = matchGraphs(*m_made.own, *m_made.other);
    }

    Compared run()
    {
        const Graph& own = m_made.own->graph();
        for (std::size_t i = 0; i < own.nodeCount(); ++i) {
            const NodeId partner = m_made.match.toOther[i];
            if (partner.isValid()) {
                compareNodes(NodeId(i), partner);
            } else if (!isNoNode(own.node(NodeId(i)))) {
                m_made.extra.push_back(NodeId(i));
            }
        }
        for (std::size_t i = 0; i < m_made.match.toOne.size(); ++i) {
            if (!m_made.match.toOne[i].isValid() && !isNoNode(m_made.other->graph().node(NodeId(i)))) {
                m_made.missing.push_back(NodeId(i));
            }
        }
        return std::move(m_made);
    }

private:
    void compareNodes(NodeId node, NodeId partner)
    {
        const Node& own = m_made.own->graph().node(node);
        const Node& other = m_made.other->graph().node(partner);
        compareAttributes(node, own, other);
        for (std::size_t slot = 0; slot < std::max(own.inputs.size(), other.inputs.size()); ++slot) {
            const Tensor mine = m_made.own->constantOperand(own, slot);
            const Tensor theirs = m_made.other->constantOperand(other, slot);
            if (mine.isValid() && theirs.isValid()) {
                compareConstants(node, slot, mine, theirs);
            } else if (!mine.isValid() && !theirs.isValid()) {
                compareOperands(node, slot, own, other);
            }
        }
    }

    void compareAttributes(NodeId node, const Node& own, const Node& other)
    {
        std::set<std::string> names;
        for (const Node* one : {&own, &other}) {
            for (const auto& [name, value] : one->attributes) {
                names.insert(name);
            }
        }
        for (const std::string& name : names) {
            compareAttribute(node, name, own, other);
        }
    }

    /// One that at least one of the two has.
    void compareAttribute(NodeId node, const std::string& name, const Node& own, const Node& other)
    {
        const auto mine = own.attributes.find(name);
        const auto theirs = other.attributes.find(name);
        const bool isMine = mine != own.attributes.end();
        const bool isTheirs = theirs != other.attributes.end();
        const bool isSame = isMine && isTheirs ? isSameAttribute(mine->second, theirs->second)
                                               : isUsualList(name, isMine ? mine->second : theirs->second);
        const std::string ownText = isMine ? attributeText(mine->second) : usualText(name);
        const std::string otherText = isTheirs ? attributeText(theirs->second) : usualText(name);
        if (!isSame && !name.starts_with("__") && (ownText != otherText || (isMine && isTheirs))) {
            m_made.attributes.push_back({node, name, ownText, otherText});
        }
    }

    void compareConstants(NodeId node, std::size_t slot, const Tensor& mine, const Tensor& theirs)
    {
        if (mine.shape() == theirs.shape() && mine.dtype() == theirs.dtype() && mine.bitEqual(theirs)) {
            ++m_made.equalConstants;
            return;
        }
        ConstantDifference difference{node, slot, static_cast<std::size_t>(mine.size()), {}, false};
        if (mine.shape() != theirs.shape()) {
            difference.isOtherShape = true;
            m_made.constants.push_back(std::move(difference));
            return;
        }
        const std::vector<double> a = numbersIn(mine);
        const std::vector<double> b = numbersIn(theirs);
        // A channel that is many times as large must not hide what differs in the others: the smaller side measures.
        const double smaller = largestFinite(b);
        const double largest = std::max(largestFinite(a), smaller);
        const double slack = kConstantTolerance * std::min(largest, smaller > 0 ? smaller : largest);
        difference.positions = positionsApart(a, b, slack);
        if (difference.positions.empty()) {
            ++m_made.equalConstants;
        } else {
            m_made.constants.push_back(std::move(difference));
        }
    }

    void compareOperands(NodeId node, std::size_t slot, const Node& own, const Node& other)
    {
        const ValueId mine =
            slot < own.inputs.size() ? behindIdentities(m_made.own->graph(), own.inputs[slot]) : ValueId();
        const ValueId theirs =
            slot < other.inputs.size() ? behindIdentities(m_made.other->graph(), other.inputs[slot]) : ValueId();
        if (!mine.isValid() || !theirs.isValid() || mine.index() >= m_made.match.valueToOther.size()) {
            return;
        }
        const ValueId partner = m_made.match.valueToOther[mine.index()];
        const NodeId producer = m_made.other->graph().value(theirs).producer;
        const bool isTheirsMatched = !producer.isValid() || m_made.match.toOne[producer.index()].isValid();
        if (partner.isValid() && isTheirsMatched && partner != theirs) {
            m_made.rewired.push_back(
                {node, slot, m_made.own->graph().value(mine).name, m_made.other->graph().value(theirs).name});
        }
    }

    Compared m_made;
};

} // namespace

std::shared_ptr<const Compared> compareModels(const Facts& own, const Facts& other)
{
    const bool isOfFiles = own.model() != nullptr && other.model() != nullptr;
    auto mine = comparable(own, isOfFiles);
    auto theirs = comparable(other, isOfFiles);
    if (!mine || !theirs) {
        return nullptr;
    }
    return std::make_shared<const Compared>(Comparison(std::move(mine), std::move(theirs)).run());
}

std::shared_ptr<const ComparedPasses> comparePasses(const Facts& own, const Facts& other)
{
    if (own.pass() == nullptr || other.pass() == nullptr) {
        return nullptr;
    }
    auto made = std::make_shared<ComparedPasses>();
    made->own = comparable(own, false);
    made->other = comparable(other, false);
    made->match = matchGraphs(*made->own, *made->other);
    return made;
}

bool haveSameInputs(const Facts& own, const Facts& other)
{
    return std::ranges::equal(own.inputs(), other.inputs(),
                              [](const Tensor& a, const Tensor& b) { return a.bitEqual(b.to(a.dtype())); });
}

} // namespace retro::diagnosis
