// SPDX-License-Identifier: Apache-2.0
// Shares no code with the kernels: rows are lists of bits, weights a map, and every rule is written out once more.
#include "tests/kernels/lut/directformula.h"

#include <cmath>
#include <functional>

namespace retro::luttest
{

namespace
{

using lut::kUnusedAnchor;

/// Bits of one detector at one position, lowest first, and the one with the smallest difference.
struct Detected
{
    std::vector<int> bits;
    int weakest = -1;
    double difference = 0;

    void add(double u)
    {
        if (!std::isnan(u) && (weakest < 0 || std::fabs(u) < std::fabs(difference))) {
            weakest = static_cast<int>(bits.size());
            difference = u;
        }
        bits.push_back(u > 0 ? 1 : 0);
    }
    [[nodiscard]] double certainty() const { return weakest < 0 ? HUGE_VAL : std::fabs(difference); }
};

double slopeOf(double u) { return (u > 0 ? 0.5 : -0.5) / std::pow(1 + std::fabs(u), 2); }

class Direct
{
public:
    explicit Direct(const SampleLayer<double>& layer) : l(layer), m_perPosition(l.shape.length)
    {
        const std::uint64_t positions = l.batch * m_perPosition;
        m_result.output.assign(positions * l.shape.outputs, 0);
        m_result.inputGradients.assign(positions * l.shape.inputs, 0);
        m_result.weightGradients.assign(l.weights.size(), 0);
        m_result.codeGradients.assign(l.codes.size(), 0);
        m_result.rows.assign(positions * l.shape.tables, 0);
    }

    DirectResult work()
    {
        for (std::uint64_t b = 0; b < l.batch; ++b) {
            for (std::uint64_t t = 0; t < l.shape.tables; ++t) {
                l.shape.isSequence ? workOnSequence(b, t) : workOnSample(b, t);
            }
        }
        return std::move(m_result);
    }

private:
    Detected detect(std::uint64_t position, std::uint64_t t)
    {
        Detected found;
        for (std::uint64_t k = 0; k < l.shape.comparisons; ++k) {
            const lut::Anchor anchor = l.anchors[t * l.shape.comparisons + k];
            if (anchor.a == kUnusedAnchor) {
                found.bits.push_back(0);
            } else {
                const double* x = l.input.data() + position * l.shape.inputs;
                found.add(x[anchor.a] - x[anchor.b]);
            }
        }
        m_result.rows[position * l.shape.tables + t] = static_cast<std::int32_t>(numberOf(found.bits));
        return found;
    }

    static std::uint64_t numberOf(const std::vector<int>& bits)
    {
        std::uint64_t number = 0;
        for (std::size_t k = bits.size(); k > 0; --k) {
            number = 2 * number + static_cast<std::uint64_t>(bits[k - 1]);
        }
        return number;
    }

    /// Calls f(place of a weight, output) for the weights of a row.
    void forEachWeight(std::uint64_t t, const std::vector<int>& bits,
                       const std::function<void(std::uint64_t, std::uint64_t)>& f) const
    {
        const std::uint64_t n = t * (std::uint64_t{1} << bits.size()) + numberOf(bits);
        if (l.isSparse) {
            for (std::uint64_t s = l.rowStarts[n]; s < l.rowStarts[n + 1]; ++s) {
                f(s, l.columns[s]);
            }
            return;
        }
        for (std::uint64_t o = 0; o < l.shape.outputs; ++o) {
            f(n * l.shape.outputs + o, o);
        }
    }

    double score(std::uint64_t position, std::uint64_t t, const std::vector<int>& bits) const
    {
        double sum = 0;
        forEachWeight(t, bits, [&](std::uint64_t w, std::uint64_t o) {
            sum += l.weights[w] * l.outputGradients[position * l.shape.outputs + o];
        });
        return sum;
    }

    /// score(bits) − score(bits with one flipped)
    double contrast(std::uint64_t position, std::uint64_t t, std::vector<int> bits, std::size_t flip) const
    {
        const double main = score(position, t, bits);
        bits[flip] = 1 - bits[flip];
        return main - score(position, t, bits);
    }

    void visit(std::uint64_t position, std::uint64_t t, const std::vector<int>& bits)
    {
        forEachWeight(t, bits, [&](std::uint64_t w, std::uint64_t o) {
            m_result.output[position * l.shape.outputs + o] += l.weights[w];
            m_result.weightGradients[w] += l.outputGradients[position * l.shape.outputs + o];
        });
    }

    void send(std::uint64_t position, std::uint64_t t, const Detected& detected, double difference)
    {
        const lut::Anchor anchor = l.anchors[t * l.shape.comparisons + static_cast<std::uint64_t>(detected.weakest)];
        const double v = difference * slopeOf(detected.difference);
        m_result.inputGradients[position * l.shape.inputs + anchor.a] += v;
        m_result.inputGradients[position * l.shape.inputs + anchor.b] -= v;
    }

    void workOnSample(std::uint64_t b, std::uint64_t t)
    {
        const Detected found = detect(b, t);
        visit(b, t, found.bits);
        if (found.weakest >= 0) {
            send(b, t, found, contrast(b, t, found.bits, static_cast<std::size_t>(found.weakest)));
        }
    }

    void workOnSequence(std::uint64_t b, std::uint64_t t)
    {
        std::vector<Detected> found;
        for (std::uint64_t s = 0; s < l.shape.length; ++s) {
            found.push_back(detect(b * l.shape.length + s, t));
        }
        for (std::uint64_t j = 1; j < l.shape.length; ++j) {
            for (std::uint64_t i = 0; i < j; ++i) {
                workOnPair(b, t, found, i, j);
            }
        }
    }

    void workOnPair(std::uint64_t b, std::uint64_t t, const std::vector<Detected>& found, std::uint64_t i,
                    std::uint64_t j)
    {
        const std::uint64_t codeAt = ((j - i - 1) * l.shape.tables + t) * l.shape.codeBits;
        Detected code;
        for (std::uint64_t p = 0; p < l.shape.codeBits; ++p) {
            code.add(l.codes[codeAt + p]);
        }
        std::vector<int> bits = code.bits;
        bits.insert(bits.end(), found[i].bits.begin(), found[i].bits.end());
        bits.insert(bits.end(), found[j].bits.begin(), found[j].bits.end());
        const std::uint64_t position = b * l.shape.length + j;
        visit(position, t, bits);
        const bool isLater = found[j].certainty() < found[i].certainty();
        const Detected& chosen = isLater ? found[j] : found[i];
        if (chosen.weakest >= 0) {
            const std::size_t flip =
                static_cast<std::size_t>(chosen.weakest) + l.shape.codeBits + (isLater ? l.shape.comparisons : 0);
            send(b * l.shape.length + (isLater ? j : i), t, chosen, contrast(position, t, bits, flip));
        }
        if (code.certainty() < found[i].certainty() && code.certainty() < found[j].certainty()) {
            const auto flip = static_cast<std::size_t>(code.weakest);
            m_result.codeGradients[codeAt + flip] += contrast(position, t, bits, flip) * slopeOf(code.difference);
        }
    }

    const SampleLayer<double>& l;
    std::uint64_t m_perPosition;
    DirectResult m_result;
};

} // namespace

DirectResult directFormula(const SampleLayer<double>& layer) { return Direct(layer).work(); }

} // namespace retro::luttest
