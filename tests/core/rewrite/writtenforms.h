// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/core/rewrite/graphs.h"

#include <functional>

/// Functions in the forms in which converters write them, the operator first.
namespace retro::rewrite::testing
{

/// A value in a graph that is being written.
struct Term
{
    Writer* writer = nullptr;
    ValueId id = {};
};

inline std::string nextName(const std::string& stem)
{
    static int count = 0;
    return stem + std::to_string(count++);
}

inline Term call(const std::string& op, const std::vector<Term>& operands, Attributes attributes = {},
                 std::int64_t opset = 17)
{
    std::vector<ValueId> ids;
    for (const Term& operand : operands) {
        ids.push_back(operand.id);
    }
    Writer& writer = *operands[0].writer;
    return {&writer, writer.node(op, nextName(op), std::move(ids), std::move(attributes), opset)};
}
inline Term of(const Term& x, const Tensor& data) { return {x.writer, x.writer->constant(nextName("c"), data)}; }
inline Term of(const Term& x, double number)
{
    const std::vector<float> values{static_cast<float>(number)};
    return of(x, Tensor::of<float>({}, values));
}
inline Term whole(const Term& x, std::vector<std::int64_t> numbers)
{
    return of(x, Tensor::of<std::int64_t>({static_cast<std::int64_t>(numbers.size())}, numbers));
}

inline Term operator+(const Term& a, const Term& b) { return call("Add", {a, b}); }
inline Term operator-(const Term& a, const Term& b) { return call("Sub", {a, b}); }
inline Term operator*(const Term& a, const Term& b) { return call("Mul", {a, b}); }
inline Term operator/(const Term& a, const Term& b) { return call("Div", {a, b}); }
inline Term operator+(const Term& a, double b) { return a + of(a, b); }
inline Term operator-(const Term& a, double b) { return a - of(a, b); }
inline Term operator*(const Term& a, double b) { return a * of(a, b); }
inline Term operator/(const Term& a, double b) { return a / of(a, b); }
inline Term operator+(double a, const Term& b) { return of(b, a) + b; }
inline Term operator-(double a, const Term& b) { return of(b, a) - b; }
inline Term operator/(double a, const Term& b) { return of(b, a) / b; }
inline Term operator-(const Term& a) { return call("Neg", {a}); }
inline Term e(const Term& x) { return call("Exp", {x}); }
inline Term logarithm(const Term& x) { return call("Log", {x}); }
inline Term root(const Term& x) { return call("Sqrt", {x}); }
inline Term inverse(const Term& x) { return call("Reciprocal", {x}); }
inline Term size(const Term& x) { return call("Abs", {x}); }
inline Term tanhOf(const Term& x) { return call("Tanh", {x}); }
inline Term logistic(const Term& x) { return call("Sigmoid", {x}); }
inline Term relu(const Term& x) { return call("Relu", {x}); }
inline Term power(const Term& x, double exponent) { return call("Pow", {x, of(x, exponent)}); }
inline Term larger(const Term& a, double b) { return call("Max", {a, of(a, b)}); }
inline Term smaller(const Term& a, double b) { return call("Min", {a, of(a, b)}); }
inline Term clipped(const Term& x, double low, double high) { return call("Clip", {x, of(x, low), of(x, high)}); }
inline Term isAbove(const Term& x, double b) { return call("Greater", {x, of(x, b)}); }
inline Term choice(const Term& condition, const Term& a, const Term& b) { return call("Where", {condition, a, b}); }
inline Term mean(const Term& x) { return call("ReduceMean", {x}, {{"axes", std::vector<std::int64_t>{-1}}}); }
inline Term sum(const Term& x) { return call("ReduceSum", {x, whole(x, {-1})}); }
inline Term largest(const Term& x) { return call("ReduceMax", {x}, {{"axes", std::vector<std::int64_t>{-1}}}); }
inline Term norm(const Term& x) { return call("ReduceL2", {x}, {{"axes", std::vector<std::int64_t>{-1}}}); }

constexpr std::int64_t kRow = 6;

inline Term rowScale(const Term& x) { return of(x, randomTensor({kRow}, 11, 0.5, 1.5)); }
inline Term rowShift(const Term& x) { return of(x, randomTensor({kRow}, 12)); }

using Form = std::function<Term(const Term&)>;

struct WrittenFunction
{
    const char* name;
    std::string op;
    std::vector<Form> forms;
};

/// How the variance of a row is written: of the centred row, or of the row and its mean.
using Variance = Term (*)(const Term& x, const Term& mean, const Term& centred);

inline const std::vector<Variance>& variances()
{
    static const std::vector<Variance> all{
        [](const Term&, const Term&, const Term& c) { return mean(power(c, 2)); },
        [](const Term& x, const Term& m, const Term&) { return larger(mean(x * x) - m * m, 0); },
        [](const Term& x, const Term& m, const Term&) { return mean(power(x, 2)) - power(m, 2); },
        [](const Term& x, const Term& m, const Term&) { return mean(power(m - x, 2)); },
        [](const Term&, const Term&, const Term& c) { return sum(c * c) / static_cast<double>(kRow); },
        [](const Term&, const Term&, const Term& c) { return power(norm(c), 2) * (1.0 / kRow); },
    };
    return all;
}

inline std::vector<Form> layerNormForms()
{
    std::vector<Form> forms{[](const Term& x) {
        return call("LayerNormalization", {x, rowScale(x), rowShift(x)}, {{"epsilon", double{1e-5F}}});
    }};
    for (const Variance& variance : variances()) {
        const auto with = [&](auto&& end) {
            forms.emplace_back([=](const Term& x) {
                const Term m = mean(x);
                const Term c = x - m;
                return end(x, m, c, variance(x, m, c) + 1e-5);
            });
        };
        with([](const Term& x, const Term&, const Term& c, const Term& v) {
            return c / root(v) * rowScale(x) + rowShift(x);
        });
        with([](const Term& x, const Term&, const Term& c, const Term& v) {
            return c * (inverse(root(v)) * rowScale(x)) + rowShift(x);
        });
        with([](const Term& x, const Term& m, const Term&, const Term& v) {
            const Term factor = power(v, -0.5) * rowScale(x);
            return x * factor + (rowShift(x) - m * factor);
        });
    }
    forms.emplace_back([](const Term& x) {
        const Term swapped = mean(x) - x;
        return -(swapped / root(mean(swapped * swapped) + 1e-5)) * rowScale(x) + rowShift(x);
    });
    return forms;
}

inline std::vector<WrittenFunction> writtenFunctions()
{
    const auto op = [](const char* name, Attributes attributes = {}, std::int64_t opset = 17) {
        return [=](const Term& x) { return call(name, {x}, attributes, opset); };
    };
    const double tanhScale = 0.7978845608;
    return {
        {"Sigmoid",
         "Sigmoid",
         {op("Sigmoid"), [](const Term& x) { return 1.0 / (1.0 + e(-x)); },
          [](const Term& x) {
              const Term up = e(x);
              return up / (up + 1);
          },
          [](const Term& x) { return tanhOf(x * 0.5) * 0.5 + 0.5; }}},
        {"Tanh",
         "Tanh",
         {op("Tanh"), [](const Term& x) { return logistic(x * 2) * 2 - 1; },
          [](const Term& x) {
              const Term up = e(x);
              const Term down = e(-x);
              return (up - down) / (up + down);
          }}},
        {"SiLU",
         "Swish",
         {op("Swish", {}, 24), [](const Term& x) { return x * logistic(x); },
          [](const Term& x) { return x / (1.0 + e(-x)); },
          [](const Term& x) { return x * ((tanhOf(x * 0.5) + 1) * 0.5); }}},
        {"quick GELU",
         "Swish",
         {op("Swish", {{"alpha", 1.702}}, 24), [](const Term& x) { return x * logistic(x * 1.702); },
          [](const Term& x) { return x / (e(x * -1.702) + 1); }}},
        {"GELU",
         "Gelu",
         {op("Gelu", {}, 20), [](const Term& x) { return x * 0.5 * (call("Erf", {x / std::sqrt(2.0)}) + 1); },
          [](const Term& x) {
              const Term half = x * 0.5;
              return half + half * call("Erf", {x * std::sqrt(0.5)});
          }}},
        {"GELU by tanh",
         "Gelu",
         {op("Gelu", {{"approximate", std::string("tanh")}}, 20),
          [=](const Term& x) { return x * 0.5 * (tanhOf((x + power(x, 3) * 0.044715) * tanhScale) + 1); },
          [=](const Term& x) { return x * logistic((x + x * x * x * 0.044715) * (2 * tanhScale)); }}},
        {"ReLU",
         "Relu",
         {op("Relu"), [](const Term& x) { return larger(x, 0); }, [](const Term& x) { return -smaller(-x, 0); },
          [](const Term& x) { return (x + size(x)) * 0.5; },
          [](const Term& x) {
              return x * call("Cast", {isAbove(x, 0)}, {{"to", std::int64_t{1}}});
          },
          [](const Term& x) { return choice(isAbove(x, 0), x, of(x, 0)); },
          [](const Term& x) {
              return call("LeakyRelu", {x}, {{"alpha", 0.0}});
          }}},
        {"LeakyReLU",
         "LeakyRelu",
         {op("LeakyRelu", {{"alpha", 0.25}}),
          [](const Term& x) {
              return call("Max", {x, x * 0.25});
          },
          [](const Term& x) { return relu(x) - relu(-x) * 0.25; }}},
        {"HardSwish",
         "HardSwish",
         {op("HardSwish"), [](const Term& x) { return x * (clipped(x + 3, 0, 6) / 6); },
          [](const Term& x) { return x * smaller(relu(x + 3), 6) / 6; },
          [](const Term& x) { return x * clipped(x * (1.0 / 6) + 0.5, 0, 1); }}},
        {"HardSigmoid",
         "HardSigmoid",
         {op("HardSigmoid", {{"alpha", 0.2}, {"beta", 0.5}}),
          [](const Term& x) { return larger(smaller(x * 0.2 + 0.5, 1), 0); }}},
        {"Softplus",
         "Softplus",
         {op("Softplus"), [](const Term& x) { return logarithm(e(x) + 1); },
          [](const Term& x) { return relu(x) + logarithm(e(-size(x)) + 1); }}},
        {"Mish",
         "Mish",
         {op("Mish", {}, 18), [](const Term& x) { return x * tanhOf(call("Softplus", {x})); },
          [](const Term& x) {
              const Term up = e(x);
              const Term both = up * (up + 2);
              return x * (both / (both + 2));
          }}},
        {"ELU", "Elu", {op("Elu"), [](const Term& x) { return choice(isAbove(x, 0), x, e(x) - 1); }}},
        {"clip",
         "Clip",
         {[](const Term& x) { return clipped(x, 0, 6); }, [](const Term& x) { return smaller(relu(x), 6); }}},
        {"softmax",
         "Softmax",
         {op("Softmax", {{"axis", std::int64_t{-1}}}),
          [](const Term& x) {
              const Term up = e(x);
              return up / sum(up);
          },
          [](const Term& x) {
              const Term up = e(x - largest(x));
              return up * inverse(sum(up));
          },
          [](const Term& x) {
              return e(call("LogSoftmax", {x}, {{"axis", std::int64_t{-1}}}));
          },
          [](const Term& x) { return e(x - logarithm(sum(e(x)))); }}},
        {"log softmax",
         "LogSoftmax",
         {op("LogSoftmax", {{"axis", std::int64_t{-1}}}),
          [](const Term& x) {
              return logarithm(call("Softmax", {x}, {{"axis", std::int64_t{-1}}}));
          },
          [](const Term& x) {
              const Term rest = x - largest(x);
              return rest - logarithm(sum(e(rest)));
          }}},
        {"L2",
         "LpNormalization",
         {op("LpNormalization", {{"axis", std::int64_t{-1}}}), [](const Term& x) { return x / norm(x); },
          [](const Term& x) { return x * inverse(root(larger(sum(x * x), 1e-12))); },
          [](const Term& x) { return x / larger(norm(x), 1e-12); }}},
        {"RMSNorm",
         "RMSNormalization",
         {[](const Term& x) {
              return call("RMSNormalization", {x, rowScale(x)}, {{"epsilon", double{1e-5F}}}, 23);
          },
          [](const Term& x) { return x * power(mean(x * x) + 1e-5, -0.5) * rowScale(x); },
          [](const Term& x) { return x * rowScale(x) / root(sum(x * x) / static_cast<double>(kRow) + 1e-5); }}},
        {"LayerNorm", "LayerNormalization", layerNormForms()},
    };
}

/// x → linear layer → the function → linear layer.
inline SharedGraph graphOf(const Form& form)
{
    Writer writer;
    const Term x{&writer, writer.input("x", {2, 3, kRow})};
    const Term before = call("MatMul", {x, of(x, randomTensor({kRow, kRow}, 1))});
    const Term after = call("MatMul", {form(before), of(x, randomTensor({kRow, 4}, 2))});
    writer.output(after.id);
    return writer.finish();
}

} // namespace retro::rewrite::testing
