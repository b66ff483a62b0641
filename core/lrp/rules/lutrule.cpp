// SPDX-License-Identifier: Apache-2.0
#include "core/base/failure.h"
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/gradientparts.h"
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/rules/titledrule.h"
#include "core/ops/tablelookup.h"

#include <fmt/format.h>

#include <array>

namespace retro::lrp
{

namespace algebra = ops::algebra;
using ops::TableLookup;

namespace
{

constexpr std::array<std::string_view, 5> kTableShareNames{"flip-contrast", "weakest-bit", "signed-flip", "shapley",
                                                           "gradient"};

std::string_view nameOf(TableShare share) { return kTableShareNames.at(static_cast<std::size_t>(share)); }

lut::TableRule kernelRule(TableShare share)
{
    switch (share) {
    case TableShare::WeakestBit:
        return lut::TableRule::WeakestBit;
    case TableShare::SignedFlip:
        return lut::TableRule::SignedFlip;
    case TableShare::Shapley:
        return lut::TableRule::Shapley;
    default:
        return lut::TableRule::FlipContrast;
    }
}

bool isTracked(const RuleContext& context, std::size_t slot)
{
    return slot < context.tracked.size() && context.tracked[slot] != 0;
}

class LutRule final : public TitledRule
{
public:
    LutRule(const Stabiliser& stabiliser, TableShare share)
        : TitledRule({"lut",
                      {StructureKind::TableLookup},
                      withParameter(toParameters(stabiliser), "share", std::string(nameOf(share))),
                      fmt::format("lut {}, epsilon {}", nameOf(share), textOf(stabiliser))}),
          m_stabiliser(stabiliser), m_share(share)
    {}

    [[nodiscard]] std::string misfit(const ops::BoundOperator& op, std::span<const ops::TensorType>,
                                     std::span<const std::uint8_t>) const override
    {
        const std::uint32_t bits = as<TableLookup>(op.structure()).layerShape().rowBits();
        return m_share == TableShare::Shapley && bits > lut::kMaxShapleyBits
                   ? fmt::format("reads every row of a table and takes at most {} bits of a row, but this layer has "
                                 "{}; choose the share flip-contrast",
                                 lut::kMaxShapleyBits, bits)
                   : std::string();
    }

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t>) const override
    {
        return op.savedForGradient();
    }

    [[nodiscard]] std::uint64_t workspace(const ops::BoundOperator& op, std::size_t slot) const override
    {
        return op.workspace(m_share == TableShare::Gradient ? ops::Work::Reverse : ops::Work::Relevance, slot);
    }

    [[nodiscard]] bool isLinear() const override { return m_share != TableShare::FlipContrast; }
    [[nodiscard]] std::string noForward(const ops::BoundOperator&, std::span<const std::uint8_t>) const override
    {
        return "what its tables hand to each comparison is known backwards alone";
    }
    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        base::guard(false, "noForward() says so");
        return onlyFirst(context, {});
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        Balance balance(context);
        const auto divide = [&](const Tensor& y) {
            Tensor s = algebra::stabilisedQuotient(context.relevance[0], y, m_stabiliser);
            balance.bookDivision(context.relevance[0], s, y);
            return s;
        };
        if (m_share == TableShare::Gradient) {
            const Tensor s = divide(context.op.run(context.operands).front());
            return balance.closeAs(event::Cause::Gradient, timesGradient(context, s));
        }
        return balance.close(shared(context, divide, balance));
    }

private:
    static std::vector<Tensor> timesGradient(const RuleContext& context, const Tensor& s)
    {
        RuleContext divided = context;
        divided.relevance = std::span(&s, 1);
        return forTracked(context, [&](std::size_t slot) {
            return algebra::multiply(gradientPart(divided, slot), context.operands[slot]);
        });
    }

    [[nodiscard]] std::vector<Tensor> shared(const RuleContext& context, const TableLookup::Divide& divide,
                                             Balance& balance) const
    {
        const auto& table = as<TableLookup>(context.op.structure());
        const ops::TableRelevance found = table.distribute(divide, context.operands, kernelRule(m_share), false);
        std::vector<Tensor> parts = onlySlot(context, context.tracked.size(), {}); // weights choose nothing
        hand(context, TableLookup::kInput, found.input, parts, balance);
        hand(context, TableLookup::kCodes, found.codes, parts, balance);
        balance.book(event::Cause::Bias, found.unplaced);
        return parts;
    }

    static void hand(const RuleContext& context, std::size_t slot, const Tensor& part, std::vector<Tensor>& parts,
                     Balance& balance)
    {
        if (isTracked(context, slot)) {
            parts[slot] = part;
        } else if (part.isValid() && balance.isWanted()) {
            balance.book(event::Cause::Constant, algebra::sum(part));
        }
    }

    Stabiliser m_stabiliser;
    TableShare m_share;
};

} // namespace

RulePointer lutRule(const Stabiliser& stabiliser, TableShare share)
{
    return std::make_shared<const LutRule>(stabiliser, share);
}

namespace
{

RulePointer readLut(ParameterReader& reader)
{
    const Stabiliser stabiliser = reader.stabiliser({});
    return lutRule(stabiliser, static_cast<TableShare>(reader.choice("share", kTableShareNames, 0)));
}

std::string lutFormula(const FormulaWords& words)
{
    const std::string_view share = words.text.substr(std::min<std::size_t>(words.text.size(), 4)); // behind "lut "
    const std::string_view name = share.substr(0, share.find(','));
    return fmt::format(
        "s = R/stab(y); c_t = Σ s·row_t, shared among the comparisons of table t{}{}, half to each anchor",
        name.empty() ? "" : " by ", name);
}

} // namespace

extern const RuleDeclaration kLutRule{"lut", readLut, lutFormula, "table lookup: LUT layers"};

} // namespace retro::lrp
