// SPDX-License-Identifier: Apache-2.0
// Every operator, every floating operand, computed or constant: what a reverse rule, a relevance rule and the relevance
// of parameters give for that operand has its shape and is finite, and the gradient equals a difference over bindings
// of their own, or is zero by definition. An operator without a line in gradientcheck or beside this file fails.
#include "core/ops/quantise/qonnx.h"
#include "tests/core/ops/slots/extentsweep.h"

#include "core/execute/boundmodel.h"
#include "core/execute/forward.h"
#include "core/lrp/rules/gradientparts.h"
#include "core/lrp/rules/rules.h"
#include "core/lrp/traversal/parameterrelevance.h"
#include "core/ops/schema/schema.h"
#include "core/rewrite/rewrite.h"
#include "tests/core/ops/slots/nongradientgenerators.h"

#include <QtTest>

#include <set>
#include <sstream>

using namespace retro::tests;
namespace algebra = retro::ops::algebra;
namespace execute = retro::execute;
namespace lrp = retro::lrp;
namespace ops = retro::ops;

namespace
{

constexpr int kDraws = 8;
const execute::NodeId kNode(std::uint32_t{0});

std::vector<Generator> allGenerators()
{
    std::vector<Generator> all;
    for (const auto& some :
         {elementWiseGenerators(), arithmeticGenerators(), reductionGenerators(), shapeGenerators(), indexGenerators(),
          linearGenerators(), windowGenerators(), normalisationGenerators(), resampleGenerators(), composedGenerators(),
          nonGradientGenerators(), quantisedGenerators(), olderGenerators()}) {
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

/// Operands whose gradient is not that of the result, which changes in jumps.
bool hasSurrogate(const Generator& generator, std::size_t slot)
{
    const bool isRounded = generator.op == "FakeQuantize" || generator.domain == "retrograde.integer" ||
                           std::ranges::count(ops::kQonnxDomains, generator.domain) > 0;
    return (generator.op == "LUT" && (slot == 0 || slot == 3)) || isRounded;
}

/// Operands that change the result and have no gradient all the same.
struct ZeroByDefinition
{
    std::string op;
    std::size_t slot;
    const char* why;
};
const std::vector<ZeroByDefinition>& zerosByDefinition()
{
    static const std::vector<ZeroByDefinition> all{
        {"Detach", 0, "it is there to end the gradient"},
        {"FakeQuantize", 1, "the scale says which numbers there are"},
        {"SVMClassifier", 0, "no gradient is known; a target behind it is refused"},
        {"SVMRegressor", 0, "no gradient is known; a target behind it is refused"},
        {"DynamicQuantizeLinear", 0, "its results are the numbers of an integer type and how to read them"},
    };
    return all;
}

bool isZeroByDefinition(const std::string& op, std::size_t slot)
{
    return std::ranges::any_of(zerosByDefinition(),
                               [&](const ZeroByDefinition& each) { return each.op == op && each.slot == slot; });
}

bool isFloat(const Tensor& t) { return t.isValid() && retro::tensor::isFloating(t.dtype()); }

/// A drawn node as a model of its own, bound in float64.
struct Site
{
    std::shared_ptr<const execute::BoundModel> model;
    std::vector<Tensor> operands;
    std::vector<Tensor> outputs;
    std::vector<std::uint8_t> computed; ///< per slot: floating and no constant
    std::vector<ops::TensorType> types;

    [[nodiscard]] const ops::BoundOperator& op() const { return model->op(kNode); }
    [[nodiscard]] bool carries() const
    {
        return op().structure().kind() != ops::StructureKind::NoRelevance &&
               std::ranges::any_of(computed, [](std::uint8_t each) { return each != 0; });
    }
};

std::optional<Site> siteOf(const OpCase& drawn, std::string& refusal)
{
    Site site;
    std::vector<ops::TensorType> inputTypes;
    std::vector<Tensor> inputs;
    for (std::size_t slot = 0; slot < drawn.operands().size(); ++slot) {
        const Tensor& t = drawn.operands()[slot];
        site.operands.push_back(t);
        site.types.push_back({t.dtype(), t.shape()});
        site.computed.push_back(isFloat(t) && !drawn.isConstant(slot) ? 1 : 0);
        if (t.isValid() && !drawn.isConstant(slot)) {
            inputs.push_back(t);
            inputTypes.push_back(site.types.back());
        }
    }
    auto bound = execute::BoundModel::bind(drawn.makeGraph(), inputTypes, execute::Precision::Double, inputs);
    if (!bound) {
        refusal = bound.error().text();
        return std::nullopt;
    }
    site.model = *bound;
    if (const auto checked = site.op().check(site.operands); !checked) {
        refusal = checked.error().text();
        return std::nullopt;
    }
    site.outputs = site.op().forward(site.operands);
    return site;
}

/// What arrives at the outputs: numbers between `low` and 1 at floating ones.
std::vector<Tensor> seedsFor(const Site& site, double low, Draw& draw)
{
    std::vector<Tensor> seeds;
    for (const Tensor& y : site.outputs) {
        seeds.push_back(isFloat(y) ? draw.tensor(y.shape(), low, 1) : Tensor());
    }
    return seeds;
}

bool hasFloat(const std::vector<Tensor>& tensors)
{
    return std::ranges::any_of(tensors, [](const Tensor& t) { return t.isValid() && t.size() > 0; });
}

/// What is wrong with the part of an operand; empty when nothing is.
std::string faultOf(const Tensor& part, const ops::TensorType& type)
{
    if (!part.isValid()) {
        return "no tensor";
    }
    if (part.shape() != type.shape || !retro::tensor::isFloating(part.dtype())) {
        return fmt::format("[{}] {} for an operand of shape [{}]", retro::tensor::toText(part.shape()),
                           retro::tensor::nameOf(part.dtype()), retro::tensor::toText(type.shape));
    }
    return algebra::allFinite(part) ? std::string() : "numbers that are not finite";
}

std::vector<std::uint8_t> onlySlot(std::size_t count, std::size_t slot)
{
    std::vector<std::uint8_t> tracked(count, 0);
    tracked[slot] = 1;
    return tracked;
}

/// The reverse rule's part of one operand; zeros where the structure carries nothing.
Tensor gradientOf(const Site& site, const std::vector<Tensor>& seeds, std::size_t slot)
{
    if (!site.carries()) {
        return Tensor::zeros(DType::Float64, site.types[slot].shape);
    }
    const auto tracked = onlySlot(site.operands.size(), slot);
    const ops::Reads reads = lrp::gradientReads(site.op(), tracked);
    std::vector<Tensor> operands = site.operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        operands[i] = reads.operand(i) ? operands[i] : Tensor();
    }
    return lrp::gradientPart({site.op(), operands, site.outputs, seeds, tracked, site.types}, slot);
}

/// Σ seeds·outputs with operand `slot` moved; nothing when the node is refused there or its results change shape.
std::optional<double> valueAt(OpCase moved, std::size_t slot, const Tensor& direction, double step,
                              const std::vector<Tensor>& seeds)
{
    moved.replaceOperand(slot, algebra::addScaled(moved.operands()[slot], direction, step));
    std::string refusal;
    const std::optional<Site> site = siteOf(moved, refusal);
    double sum = 0;
    for (std::size_t k = 0; site && k < seeds.size(); ++k) {
        if (seeds[k].isValid() && site->outputs[k].shape() != seeds[k].shape()) {
            return std::nullopt;
        }
        sum += seeds[k].isValid() ? algebra::dot(site->outputs[k], seeds[k]) : 0;
    }
    return site ? std::optional(sum) : std::nullopt;
}

/// Slope along `direction`; nothing on a kink.
std::optional<double> slopeOf(const OpCase& drawn, std::size_t slot, const Tensor& direction,
                              const std::vector<Tensor>& seeds, double scale)
{
    constexpr double kStep = 2e-4;
    const auto a = valueAt(drawn, slot, direction, kStep, seeds);
    const auto b = valueAt(drawn, slot, direction, -kStep, seeds);
    const auto c = valueAt(drawn, slot, direction, kStep / 2, seeds);
    const auto d = valueAt(drawn, slot, direction, -kStep / 2, seeds);
    if (!a || !b || !c || !d) {
        return std::nullopt;
    }
    const double coarse = (*a - *b) / (2 * kStep);
    const double fine = (*c - *d) / kStep;
    const bool isSmooth = std::abs(coarse - fine) <= 1e-5 * std::max({scale, std::abs(fine), 1e-3});
    return isSmooth ? std::optional(fine + (fine - coarse) / 3) : std::nullopt;
}

/// One operand of one drawn node. Empty: all is well.
std::string checkGradient(const Generator& generator, const OpCase& drawn, std::size_t slot, Draw& draw)
{
    std::string refusal;
    const std::optional<Site> site = siteOf(drawn, refusal);
    if (!site) {
        return refusal.find("node 'n' (") == std::string::npos ? "refused without its place: " + refusal : "";
    }
    const std::vector<Tensor> seeds = seedsFor(*site, -1, draw);
    if (!hasFloat(seeds)) {
        return {};
    }
    const Tensor part = gradientOf(*site, seeds, slot);
    if (std::string fault = faultOf(part, site->types[slot]); !fault.empty()) {
        return "gradient: " + fault;
    }
    const Tensor direction = draw.tensor(site->types[slot].shape, -1, 1);
    const double products = algebra::sumAbsolute(algebra::multiply(part, direction));
    const std::optional<double> slope = slopeOf(drawn, slot, direction, seeds, products);
    const double gradient = algebra::dot(part, direction);
    if (!slope || std::abs(*slope - gradient) <= 1e-6 * std::max({products, std::abs(*slope), 1e-3})) {
        return {};
    }
    if (hasSurrogate(generator, slot)) {
        return {};
    }
    if (products == 0 && isZeroByDefinition(generator.op, slot)) {
        return {};
    }
    return fmt::format("the rule gives {}, differences give {}", gradient, *slope);
}

/// All rules with their usual parameters, without the one that stands for the rules of the nodes inside a node.
const std::vector<lrp::RulePointer>& allRules()
{
    static const std::vector<lrp::RulePointer> rules = [] {
        std::vector<lrp::RulePointer> made;
        for (const std::string_view name : lrp::ruleNames()) {
            if (auto rule = lrp::makeRule(name, {}); rule && name != "decomposed") {
                made.push_back(std::move(rule).value());
            }
        }
        return made;
    }();
    return rules;
}

std::string checkRelevance(const OpCase& drawn, std::size_t slot, Draw& draw)
{
    std::string refusal;
    const std::optional<Site> site = siteOf(drawn, refusal);
    if (!site || !site->carries()) {
        return {};
    }
    const std::vector<Tensor> relevance = seedsFor(*site, 0.5, draw);
    for (const lrp::RulePointer& rule : allRules()) {
        const bool applies = hasFloat(relevance) && rule->accepts(site->op().structure()) &&
                             lrp::misfitOf(*rule, *site->model, kNode).empty();
        for (const auto& tracked : {onlySlot(site->operands.size(), slot), site->computed}) {
            const std::vector<Tensor> parts = applies ? lrp::applyRule(*site->model, kNode, rule, tracked, relevance,
                                                                       {site->operands, site->outputs}, nullptr)
                                                      : std::vector<Tensor>();
            const std::string fault = applies ? faultOf(parts[slot], site->types[slot]) : std::string();
            if (!fault.empty()) {
                return fmt::format("rule {}: {}", rule->text(), fault);
            }
        }
    }
    return {};
}

/// The same operand as a constant, of which the relevance of parameters tells.
std::string checkParameter(OpCase drawn, std::size_t slot, Draw& draw)
{
    drawn.setConstant(slot, true);
    std::string refusal;
    const std::optional<Site> site = siteOf(drawn, refusal);
    if (!site || !site->carries()) {
        return {};
    }
    const std::vector<Tensor> relevance = seedsFor(*site, 0.5, draw);
    for (const lrp::RulePointer& rule : allRules()) {
        if (!hasFloat(relevance) || !rule->accepts(site->op().structure()) ||
            !lrp::misfitOf(*rule, *site->model, kNode).empty()) {
            continue;
        }
        const lrp::RuleSite at = lrp::ruleSite(*site->model, kNode, rule, site->computed);
        const auto shares = lrp::parameterShares(*site->model, kNode, at, relevance, {site->operands, site->outputs});
        for (const lrp::ParameterShare& share : shares) {
            const bool isTold = share.relevance.isValid();
            const std::string fault = isTold                 ? faultOf(share.relevance, site->types[share.slot])
                                      : share.reason.empty() ? "neither relevance nor a reason"
                                                             : "";
            if (!fault.empty()) {
                return fmt::format("parameter {}, rule {}: {}", share.slot, rule->text(), fault);
            }
        }
    }
    return {};
}

std::string checkSlot(const Generator& generator, OpCase drawn, std::size_t slot, Draw& draw)
{
    drawn.setConstant(slot, false);
    for (std::string fault : {checkGradient(generator, drawn, slot, draw), checkRelevance(drawn, slot, draw),
                              checkParameter(drawn, slot, draw)}) {
        if (!fault.empty()) {
            return fmt::format("{}, operand {}: {}", drawn.text(), slot, fault);
        }
    }
    return {};
}

std::string check(const Generator& generator)
{
    for (int i = 0; i < kDraws; ++i) {
        Draw draw(static_cast<std::uint32_t>(7000 + i));
        const OpCase drawn = generator.make(draw);
        std::string refusal;
        if (!siteOf(drawn, refusal)) {
            return "the draw was refused: " + refusal;
        }
        for (std::size_t slot = 0; slot < drawn.operands().size(); ++slot) {
            std::string fault =
                isFloat(drawn.operands()[slot]) ? checkSlot(generator, drawn, slot, draw) : std::string();
            if (!fault.empty()) {
                return fault;
            }
        }
    }
    return {};
}

/// Slots that the operator's schema lets be left out and that are given.
std::vector<std::size_t> optionalSlots(const OpCase& drawn)
{
    const auto graph = drawn.makeGraph();
    const auto& node = graph->node(kNode);
    const ops::OperatorSchema* schema = ops::schemaOf(node.domain, node.op, node.opset);
    std::vector<std::size_t> found;
    std::istringstream names(schema == nullptr ? std::string() : std::string(schema->operands));
    std::string name;
    for (std::size_t slot = 0; names >> name && slot < drawn.operands().size(); ++slot) {
        if (name.ends_with('?') && drawn.operands()[slot].isValid()) {
            found.push_back(slot);
        }
    }
    return found;
}

/// The draw without an operand, as it is and in the steps that its body has: the same result.
std::string checkWithout(OpCase drawn, std::size_t slot, std::size_t& bodies)
{
    drawn.replaceOperand(slot, Tensor());
    drawn.setConstant(slot, false);
    std::string refusal;
    const std::optional<Site> whole = siteOf(drawn, refusal);
    if (!whole) {
        return {}; // the others need it
    }
    auto options = retro::rewrite::noRewrites();
    options.expandFunctions = true;
    const auto graph = drawn.makeGraph();
    const auto steps = retro::rewrite::rewrite(graph, options);
    if (!steps.ok()) {
        return steps.error().text();
    }
    if (steps->graph == graph) {
        return {};
    }
    ++bodies;
    std::vector<Tensor> inputs;
    std::vector<ops::TensorType> types;
    for (std::size_t i = 0; i < whole->operands.size(); ++i) {
        if (whole->operands[i].isValid() && !drawn.isConstant(i)) {
            inputs.push_back(whole->operands[i]);
            types.push_back(whole->types[i]);
        }
    }
    const auto model = execute::BoundModel::bind(steps->graph, types, execute::Precision::Double, inputs);
    const auto run = model.ok() ? execute::forward(*model, inputs, execute::SavePolicy::All)
                                : retro::base::Result<execute::ForwardResult>(model.error());
    if (!run.ok()) {
        return run.error().text();
    }
    const double off = distance(run->outputs[0], whole->outputs[0]);
    return off < 1e-9 ? std::string() : fmt::format("its steps are off by {}", off);
}

} // namespace

class SlotSweepTest : public QObject
{
    Q_OBJECT
private slots:
    /// See extentsweep.h.
    void axesOfNoneOneAndMoreElements_data() { everySlotGetsItsOwn_data(); }
    void axesOfNoneOneAndMoreElements()
    {
        QFETCH(int, number);
        const std::string fault = extentFault(allGenerators()[static_cast<std::size_t>(number)]);
        QVERIFY2(fault.empty(), fault.c_str());
    }

    void everySlotGetsItsOwn_data()
    {
        QTest::addColumn<int>("number");
        const auto all = allGenerators();
        for (std::size_t i = 0; i < all.size(); ++i) {
            QTest::newRow((all[i].domain + all[i].op + '#' + std::to_string(i)).c_str()) << static_cast<int>(i);
        }
    }

    void everySlotGetsItsOwn()
    {
        QFETCH(int, number);
        const std::string fault = check(allGenerators()[static_cast<std::size_t>(number)]);
        QVERIFY2(fault.empty(), fault.c_str());
    }

    void optionalOperandsMayBeLeftOut()
    {
        std::size_t bodies = 0;
        for (const Generator& generator : allGenerators()) {
            for (int i = 0; i < kDraws; ++i) {
                Draw draw(static_cast<std::uint32_t>(7000 + i));
                const OpCase drawn = generator.make(draw);
                for (const std::size_t slot : optionalSlots(drawn)) {
                    const std::string fault = checkWithout(drawn, slot, bodies);
                    QVERIFY2(fault.empty(), fmt::format("{} without {}: {}", drawn.text(), slot, fault).c_str());
                }
            }
        }
        QVERIFY(bodies > 20);
    }

    void everyOperatorIsDrawn()
    {
        std::set<std::pair<std::string, std::string>> drawn;
        for (const Generator& generator : allGenerators()) {
            drawn.emplace(generator.domain, generator.op);
        }
        for (const ops::OperatorDeclaration& declaration : ops::declarations()) {
            const bool isWrittenOut = declaration.structure == "control flow"; // never bound as a node
            const bool isThere = drawn.contains({std::string(declaration.domain), std::string(declaration.op)});
            QVERIFY2(
                isWrittenOut || isThere,
                fmt::format("{} has no line in tests/core/ops/gradientcheck or tests/core/ops/slots", declaration.op)
                    .c_str());
        }
    }

    void rulesAreMade() { QVERIFY(allRules().size() > 15); }
};

QTEST_GUILESS_MAIN(SlotSweepTest)
#include "slotsweeptest.moc"
