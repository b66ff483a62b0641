// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/recognise/functions.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::rewrite
{

using tensor::DType;
using tensor::Tensor;

namespace
{

/// Numbers at which a function is looked at. The first are those that parameters are read from.
const Tensor& elementPoints()
{
    static const Tensor points = [] {
        constexpr std::array kFirst{0.0, 1.0, -1.0, 1e-3, -40.0, 40.0, 0.5, -0.5, 3.0, -3.0, 6.0, -6.0};
        std::vector<double> all(kFirst.begin(), kFirst.end());
        const Tensor others = scaled(scattered({52}, 1), 4);
        all.insert(all.end(), others.span<double>().begin(), others.span<double>().end());
        return Tensor::of<double>({static_cast<std::int64_t>(all.size())}, all);
    }();
    return points;
}

/// Values of a cone at the first of elementPoints().
struct Curve
{
    double atZero;
    double atOne;
    double atMinusOne;
    double besideZero;
    double farLeft;
    double farRight;
};

/// Puts parameters into an operator; false where the curve cannot be that function.
using ReadParameters = bool (*)(const Cone&, const Curve&, KnownOperator&);

bool readSwish(const Cone& cone, const Curve& f, KnownOperator& known)
{
    const double alpha = f.atOne > 0 && f.atOne < 1 ? asWritten(cone, std::log(f.atOne / (1 - f.atOne))) : 0;
    known.attributes["alpha"] = alpha;
    return alpha > 1e-3;
}

bool readLeakyRelu(const Cone& cone, const Curve& f, KnownOperator& known)
{
    const double alpha = asWritten(cone, -f.atMinusOne);
    known.attributes["alpha"] = alpha;
    return alpha > 0 && alpha < 1 - 1e-3;
}

bool readHardSigmoid(const Cone& cone, const Curve& f, KnownOperator& known)
{
    const double slope = asWritten(cone, (f.besideZero - f.atZero) / 1e-3);
    known.attributes["alpha"] = slope;
    known.attributes["beta"] = asWritten(cone, f.atZero);
    return f.atZero > 0 && f.atZero < 1 && slope > 1e-3;
}

bool readElu(const Cone& cone, const Curve& f, KnownOperator& known)
{
    known.attributes["alpha"] = asWritten(cone, -f.farLeft);
    return f.farLeft < -1e-3 && f.farLeft > -10;
}

bool readSelu(const Cone& cone, const Curve& f, KnownOperator& known)
{
    known.attributes["gamma"] = asWritten(cone, f.atOne);
    known.attributes["alpha"] = asWritten(cone, -f.farLeft / f.atOne);
    return f.atOne > 1 && f.farLeft < -1e-3;
}

bool readClip(const Cone& cone, const Curve& f, KnownOperator& known)
{
    for (const double end : {f.farLeft, f.farRight}) {
        known.parameters.push_back(Tensor::scalar(end == 0 ? 0 : asWritten(cone, end)));
    }
    return f.farLeft > -40 && f.farLeft < f.farRight && f.farRight < 40;
}

struct ElementFunction
{
    std::string_view op;
    std::int64_t opset;
    std::string_view sameBits = {};
    const char* approximate = nullptr;
    ReadParameters read = nullptr;
};

/// One more function is one more line. Its definition is the operator.
constexpr std::array kElementFunctions{
    ElementFunction{"Relu", 6},
    ElementFunction{"Sigmoid", 6},
    ElementFunction{"Tanh", 6},
    ElementFunction{"Softplus", 1},
    ElementFunction{"Softsign", 1},
    ElementFunction{"Gelu", 20, {}, "none"},
    ElementFunction{"Gelu", 20, {}, "tanh"},
    ElementFunction{"HardSwish", 14},
    ElementFunction{"Mish", 18},
    ElementFunction{"Swish", 24, "Sigmoid Mul, Mul Sigmoid Mul", nullptr, readSwish},
    ElementFunction{"LeakyRelu", 6, {}, nullptr, readLeakyRelu},
    ElementFunction{"HardSigmoid", 6, {}, nullptr, readHardSigmoid},
    ElementFunction{"Elu", 6, {}, nullptr, readElu},
    ElementFunction{"Selu", 6, {}, nullptr, readSelu},
    ElementFunction{"Clip", 11, {}, nullptr, readClip},
};

std::optional<KnownOperator> operatorOf(const ElementFunction& function, const Cone& cone, const Curve& curve)
{
    KnownOperator known{function.op, function.opset};
    if (function.approximate != nullptr) {
        known.attributes["approximate"] = std::string(function.approximate);
    }
    const bool fits = function.read == nullptr || function.read(cone, curve, known);
    return fits ? std::optional(std::move(known)) : std::nullopt;
}

/// Relative error that a constant has by its stored type.
double roundingOf(DType type)
{
    switch (type) {
    case DType::Float16:
        return 2e-3;
    case DType::BFloat16:
        return 1e-2;
    default:
        return 1e-6;
    }
}

} // namespace

double asWritten(const Cone& cone, double number)
{
    std::vector<double> written{1};
    for (const ValueId constant : cone.constants()) {
        const std::optional<double> one = uniformNumber(cone.draft(), constant);
        if (one && *one != 0 && std::isfinite(*one)) {
            written.insert(written.end(), {*one, 1 / *one});
        }
    }
    const auto isIt = [&](double one) { return std::abs(one - number) <= 1e-6 * std::abs(one); };
    const auto at = std::ranges::find_if(written, isIt);
    return at == written.end() ? number : *at;
}

double toleranceOf(const Cone& cone)
{
    double tolerance = 1e-6;
    for (const ValueId constant : cone.constants()) {
        tolerance = std::max(tolerance, roundingOf(cone.draft().value(constant).dtype));
    }
    return tolerance;
}

const Tensor& ElementFunctions::valuesOf(const graph::Graph& graph, const KnownOperator& known)
{
    const auto gelu = known.attributes.find("approximate");
    const bool isTanh = gelu != known.attributes.end() && std::get<std::string>(gelu->second) == "tanh";
    Tensor& values = m_values[isTanh ? std::string_view("Gelu by tanh") : known.op];
    if (!values.isValid()) {
        const std::optional<Probe> probe = Probe::of(graph, known, elementPoints().shape());
        values = probe ? (*probe)(elementPoints()) : Tensor::zeros(DType::Float64, {1});
    }
    return values;
}

const std::optional<Recognised>& ElementFunctions::find(const Cone& cone)
{
    const auto [at, isNew] = m_answers.try_emplace(cone.key());
    if (isNew) {
        at->second = tried(cone);
    }
    return at->second;
}

std::optional<Recognised> ElementFunctions::tried(const Cone& cone)
{
    const std::optional<Probe> probe = Probe::of(cone, elementPoints().shape(), true);
    if (!probe || probe->resultShape() != elementPoints().shape()) {
        return std::nullopt;
    }
    const Tensor values = (*probe)(elementPoints());
    const double* v = values.data<double>();
    const Curve curve{v[0], v[1], v[2], v[3], v[4], v[5]};
    const graph::Graph& graph = cone.draft().before();
    std::optional<Recognised> best;
    double nearest = toleranceOf(cone);
    for (const ElementFunction& function : kElementFunctions) {
        std::optional<KnownOperator> known = operatorOf(function, cone, curve);
        if (!known) {
            continue;
        }
        const std::optional<Probe> own =
            function.read == nullptr ? std::nullopt : Probe::of(graph, *known, elementPoints().shape());
        const double gap = function.read == nullptr ? distance(values, valuesOf(graph, *known))
                           : own                    ? distance(values, (*own)(elementPoints()))
                                                    : 1;
        if (gap < nearest) {
            nearest = gap;
            best = Recognised{std::move(*known), function.sameBits};
        }
    }
    return best;
}

} // namespace retro::rewrite
