// SPDX-License-Identifier: Apache-2.0
// Every operator with drawn operands, types and attributes that its schema knows, but whose values mostly make no
// sense, and now and then with others: bound or refused, never a crash; and what is bound computes results of the types
// that it declares.
#include "core/ops/schema/schema.h"
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
        OpCase c(std::string(declaration.op), whole(0, 4) == 0 ? whole(declaration.sinceOpset, last) : last,
                 std::string(declaration.domain));
        const Shape common = shape();
        const DType type = kind();
        const ops::OperatorSchema* schema = ops::schemaOf(declaration.domain, declaration.op, last);
        const auto known = static_cast<std::int64_t>(words(schema->operands).size());
        for (std::int64_t i = whole(0, 9) == 0 ? whole(0, 5) : std::max<std::int64_t>(known - whole(0, 2), 1); i > 0;
             --i) {
            addOperand(c, common, type);
        }
        for (const std::string_view word : words(schema->attributes)) {
            if (word.ends_with('!') || whole(0, 2) == 0) {
                addAttribute(c, word);
            }
        }
        if (whole(0, 15) == 0) {
            addAttribute(c, "start:graph");
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

    static std::vector<std::string_view> words(std::string_view text)
    {
        std::vector<std::string_view> found;
        while (!text.empty() && text != "*") {
            const std::size_t end = std::min(text.find(' '), text.size());
            found.push_back(text.substr(0, end));
            text.remove_prefix(std::min(end + 1, text.size()));
        }
        return found;
    }

    std::string text()
    {
        static const std::vector<std::string> kTexts{"ij,jk->ik",  "...ii->...i", "a,a,b->", "reflect",
                                                     "linear",     "add",         "max",     "LEFT",
                                                     "SAME_UPPER", "forward",     "sum",     "FLOAT"};
        return kTexts[static_cast<std::size_t>(whole(0, static_cast<std::int64_t>(kTexts.size()) - 1))];
    }

    template <class T>
    std::vector<T> list()
    {
        std::vector<T> values(static_cast<std::size_t>(whole(0, 6)));
        for (T& value : values) {
            value = static_cast<T>(whole(-2, 5));
        }
        return values;
    }

    /// `word`: "axis:int!" of a schema; the kind is another one now and then.
    void addAttribute(OpCase& c, std::string_view word)
    {
        const std::string name(word.substr(0, word.find(':')));
        std::string kind(word.substr(std::min(word.find(':') + 1, word.size())));
        kind = whole(0, 15) == 0 ? "graph" : kind.substr(0, kind.find('!'));
        if (kind == "int") {
            c.with(name, whole(-3, 5));
        } else if (kind == "float") {
            c.with(name, static_cast<double>(whole(-3, 5)));
        } else if (kind == "text") {
            c.with(name, text());
        } else if (kind == "tensor") {
            c.with(name, data(shape(), DType::Float32));
        } else if (kind == "ints") {
            c.with(name, list<std::int64_t>());
        } else if (kind == "floats") {
            c.with(name, list<double>());
        } else if (kind == "texts") {
            c.with(name, std::vector<std::string>{text(), text()});
        } else {
            c.with(name, retro::graph::Subgraph{std::make_shared<const retro::graph::Graph>(), 0});
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
