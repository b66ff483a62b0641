// SPDX-License-Identifier: Apache-2.0
// Every operator with drawn operands, types and attributes that mostly make no sense: bound or refused, never a crash;
// and what is bound computes results of the types that it declares.
#include "tests/core/ops/opcase.h"

#include <QtTest>

#include <set>

using namespace retro::tests;
namespace ops = retro::ops;
namespace tensor = retro::tensor;

namespace
{

constexpr int kDrawsPerOperator = 100;
constexpr std::int64_t kMostElements = 20000;

class Hostile
{
public:
    explicit Hostile(std::uint32_t seed) : m_generator(seed) {}

    std::int64_t whole(std::int64_t low, std::int64_t high)
    {
        return std::uniform_int_distribution<std::int64_t>(low, high)(m_generator);
    }

    OpCase node(const ops::OperatorDeclaration& declaration)
    {
        const std::int64_t last = declaration.untilOpset != 0  ? declaration.untilOpset
                                  : declaration.domain.empty() ? ops::kNewestOpset
                                                               : declaration.sinceOpset;
        OpCase c(std::string(declaration.op), whole(declaration.sinceOpset, last), std::string(declaration.domain));
        const Shape common = shape();
        const DType type = kind();
        for (std::int64_t i = whole(0, 5); i > 0; --i) {
            addOperand(c, common, type);
        }
        for (std::int64_t i = whole(0, 4); i > 0; --i) {
            addAttribute(c);
        }
        return c.outputs(static_cast<std::size_t>(whole(1, 3)));
    }

private:
    DType kind()
    {
        static constexpr std::array kKinds{DType::Float32, DType::Float64, DType::Int64, DType::Int32,
                                           DType::Int8,    DType::UInt8,   DType::Bool,  DType::UInt64};
        return whole(0, 2) > 0 ? DType::Float32 : kKinds[static_cast<std::size_t>(whole(0, 7))];
    }

    Shape shape()
    {
        Shape result(static_cast<std::size_t>(whole(0, 5)));
        for (std::int64_t& extent : result) {
            extent = whole(0, 9) == 0 ? 0 : whole(1, 4);
        }
        return result;
    }

    Tensor data(Shape shape, DType type)
    {
        std::vector<double> values(static_cast<std::size_t>(tensor::elementCount(shape)));
        for (double& value : values) {
            value = whole(0, 30) == 0 ? std::nan("") : static_cast<double>(whole(-4, 6));
        }
        return doubles(std::move(shape), values).to(type);
    }

    void addOperand(OpCase& c, const Shape& common, DType type)
    {
        if (whole(0, 12) == 0) {
            c.absent();
            return;
        }
        const std::int64_t choice = whole(0, 3);
        const Tensor t = choice == 0   ? data({whole(0, 6)}, DType::Int64)
                         : choice == 1 ? data(shape(), kind())
                                       : data(common, type);
        whole(0, 1) == 0 ? c.constant(t) : c.operand(t);
    }

    void addAttribute(OpCase& c)
    {
        static const std::vector<std::string> kWhole{"axis",      "keepdims",  "group",       "transA",     "blocksize",
                                                     "to",        "dtype",     "batch_dims",  "k",          "upper",
                                                     "exclusive", "allowzero", "num_outputs", "batch_axis", "time_axis",
                                                     "ceil_mode", "broadcast", "start",       "hidden_size"};
        static const std::vector<std::string> kLists{"axes",      "perm",  "pads",   "kernel_shape", "strides",
                                                     "dilations", "split", "starts", "ends",         "output_padding"};
        static const std::vector<std::pair<std::string, std::string>> kTexts{
            {"equation", "ij,jk->ik"}, {"equation", "...ii->...i"}, {"equation", "a,a,b->"},
            {"mode", "reflect"},       {"mode", "linear"},          {"reduction", "add"},
            {"reduction", "max"},      {"direction", "LEFT"},       {"auto_pad", "SAME_UPPER"}};
        const auto among = [&](const auto& list) {
            return list[static_cast<std::size_t>(whole(0, static_cast<std::int64_t>(list.size()) - 1))];
        };
        switch (whole(0, 4)) {
        case 0:
            c.with(among(kWhole), whole(-3, 5));
            break;
        case 1: {
            std::vector<std::int64_t> list(static_cast<std::size_t>(whole(0, 6)));
            for (std::int64_t& value : list) {
                value = whole(-2, 5);
            }
            c.with(among(kLists), std::move(list));
            break;
        }
        case 2: {
            const auto [name, value] = among(kTexts);
            c.with(name, value);
            break;
        }
        case 3:
            c.with(among(kWhole), retro::graph::Subgraph{std::make_shared<const retro::graph::Graph>(), 0});
            break;
        default:
            c.with(among(kWhole), static_cast<double>(whole(-3, 5)));
        }
    }

    std::mt19937 m_generator;
};

bool isSmall(const ops::BoundOperator& op)
{
    return std::all_of(op.outputTypes().begin(), op.outputTypes().end(),
                       [](const ops::TensorType& type) { return tensor::elementCount(type.shape) <= kMostElements; });
}

/// Runs what was bound; the first result that is not what was declared, or nothing.
std::string wrongResult(const OpCase& c)
{
    const std::vector<Tensor> results = c.forward();
    const auto& types = c.op().outputTypes();
    for (std::size_t k = 0; k < std::min(results.size(), types.size()); ++k) {
        if (results[k].isValid() && (results[k].shape() != types[k].shape || results[k].dtype() != types[k].dtype)) {
            return fmt::format("{}: output {} is {} [{}], declared {} [{}]", c.text(), k,
                               tensor::nameOf(results[k].dtype()), tensor::toText(results[k].shape()),
                               tensor::nameOf(types[k].dtype), tensor::toText(types[k].shape));
        }
    }
    return {};
}

} // namespace

class HostileTest : public QObject
{
    Q_OBJECT
private slots:
    void nothingCrashes()
    {
        std::set<std::string_view> bound;
        std::uint32_t seed = 1;
        for (const ops::OperatorDeclaration& declaration : ops::declarations()) {
            for (int i = 0; i < kDrawsPerOperator; ++i) {
                OpCase c = Hostile(seed++).node(declaration);
                if (!c.bind()) {
                    QVERIFY2(c.error().find("node 'n' (") != std::string::npos, c.error().c_str());
                    continue;
                }
                if (!isSmall(c.op()) || !c.op().check(c.operands()).ok()) {
                    continue;
                }
                bound.insert(declaration.op);
                const std::string wrong = wrongResult(c);
                QVERIFY2(wrong.empty(), wrong.c_str());
            }
        }
        QVERIFY(bound.size() > 80); // the draws reach the kernels
    }
};

QTEST_GUILESS_MAIN(HostileTest)
#include "hostiletest.moc"
