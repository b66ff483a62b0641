// SPDX-License-Identifier: Apache-2.0
#include "core/engine/luttrain/luttraining.h"

#include "core/base/cancel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace retro::engine
{

using base::Result;
using tensor::DType;
using tensor::Tensor;

namespace
{

constexpr double kLeastLargest = 1e-16; ///< gradients are not divided by less

/// Changes one array of numbers, with what it remembers of it.
class Updater
{
public:
    Updater(const LutTrainOptions& options, std::size_t count) : m_options(options)
    {
        if (options.update == LutUpdate::Adam) {
            m_mean.resize(count);
            m_square.resize(count);
        }
    }

    void apply(std::vector<float>& numbers, std::vector<float>& gradient, double rate)
    {
        if (m_options.isNormalised) {
            normalise(gradient);
        }
        m_options.update == LutUpdate::Adam ? adam(numbers, gradient, rate) : sgd(numbers, gradient, rate);
    }

    /// Plain descent at the weights that have a gradient.
    void apply(std::vector<float>& numbers, lut::SparseGradient<float>& gradient, double rate)
    {
        if (m_options.isNormalised) {
            normalise(gradient.values);
        }
        for (std::size_t i = 0; i < gradient.indices.size(); ++i) {
            descend(numbers[gradient.indices[i]], gradient.values[i], rate);
        }
    }

private:
    static void normalise(std::vector<float>& gradient)
    {
        double largest = kLeastLargest;
        for (const float g : gradient) {
            largest = std::max(largest, std::abs(static_cast<double>(g)));
        }
        for (float& g : gradient) {
            g = static_cast<float>(g / largest);
        }
    }

    static void descend(float& number, float gradient, double rate) { number -= static_cast<float>(rate) * gradient; }

    static void sgd(std::vector<float>& numbers, const std::vector<float>& gradient, double rate)
    {
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            descend(numbers[i], gradient[i], rate);
        }
    }

    void adam(std::vector<float>& numbers, const std::vector<float>& gradient, double rate)
    {
        constexpr double kFirst = 0.9;
        constexpr double kSecond = 0.999;
        constexpr double kLeast = 1e-8;
        ++m_step;
        const double first = 1 - std::pow(kFirst, m_step);
        const double second = 1 - std::pow(kSecond, m_step);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const double g = gradient[i];
            m_mean[i] = static_cast<float>(kFirst * m_mean[i] + (1 - kFirst) * g);
            m_square[i] = static_cast<float>(kSecond * m_square[i] + (1 - kSecond) * g * g);
            const double step = rate * (m_mean[i] / first) / (std::sqrt(m_square[i] / second) + kLeast);
            numbers[i] -= static_cast<float>(step);
        }
    }

    LutTrainOptions m_options;
    std::vector<float> m_mean;
    std::vector<float> m_square;
    int m_step = 0;
};

/// TrainingSamples by number, as the network takes them.
class TrainingSamples
{
public:
    TrainingSamples(const LutNetwork& network, const LutDataSet& data)
        : m_width(std::size_t{network.plan().inputs} * network.plan().length)
    {
        if (!data.x.isValid() || data.x.size() == 0) {
            return;
        }
        const Tensor x = data.x.contiguous();
        m_x = network.plan().vocabulary > 0 ? network.embedded(x.span<std::int64_t>())
                                            : std::vector<float>(x.span<float>().begin(), x.span<float>().end());
        const Tensor classes = data.labels.contiguous();
        m_labels.assign(classes.span<std::int64_t>().begin(), classes.span<std::int64_t>().end());
    }

    [[nodiscard]] std::size_t count() const { return m_labels.size(); }

    void take(std::span<const std::size_t> rows)
    {
        input.clear();
        labels.clear();
        for (const std::size_t row : rows) {
            const auto at = m_x.begin() + static_cast<std::ptrdiff_t>(row * m_width);
            input.insert(input.end(), at, at + static_cast<std::ptrdiff_t>(m_width));
            labels.push_back(m_labels[row]);
        }
    }

    std::vector<float> input;
    std::vector<std::int64_t> labels;

private:
    std::size_t m_width;
    std::vector<float> m_x;
    std::vector<std::int64_t> m_labels;
};

std::vector<std::size_t> inOrder(std::size_t count)
{
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    return order;
}

/// The same order on every machine, unlike std::shuffle.
void shuffle(std::vector<std::size_t>& order, std::mt19937_64& random)
{
    for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[random() % i]);
    }
}

template <class F>
Result<void> forBatches(std::span<const std::size_t> order, std::size_t batch, const F& f)
{
    for (std::size_t first = 0; first < order.size(); first += batch) {
        RETRO_CHECK(f(order.subspan(first, std::min(batch, order.size() - first))));
    }
    return {};
}

class Trainer
{
public:
    Trainer(LutNetwork& network, const LutDataSet& data, const LutTrainOptions& options)
        : m_network(network), m_samples(network, data), m_options(options), m_random(options.seed),
          m_order(inOrder(m_samples.count()))
    {
        for (const LutTrainLayer& layer : network.layers()) {
            m_updaters.emplace_back(options, layer.weights.size());
            m_updaters.emplace_back(options, layer.codes.size());
        }
    }

    Result<LutTrainProgress> epoch(std::size_t number, const std::stop_token& stop)
    {
        shuffle(m_order, m_random);
        const double part = static_cast<double>(number) / static_cast<double>(m_options.epochs);
        const double rate = m_options.rate * (m_options.fallsToZero ? 1 - part : 1);
        double loss = 0;
        std::size_t right = 0;
        const auto train = [&](std::span<const std::size_t> rows) -> Result<void> {
            RETRO_CHECK(base::checkStop(stop));
            m_samples.take(rows);
            run(rate);
            if (!std::isfinite(m_result.loss)) {
                return base::engineError("the loss is no finite number any more; take a lower rate");
            }
            loss += m_result.loss * static_cast<double>(rows.size());
            right += m_result.right;
            apply(rate);
            return {};
        };
        RETRO_CHECK(forBatches(m_order, m_options.batch, train));
        const auto count = static_cast<double>(std::max<std::size_t>(m_order.size(), 1));
        return LutTrainProgress{number + 1, loss / count, static_cast<double>(right) / count, 0};
    }

private:
    /// Of what was taken: loss and gradients, or the step itself.
    void run(double rate)
    {
        if (m_options.gradients == LutGradients::Internal) {
            m_network.descend(m_samples.input, m_samples.labels, static_cast<float>(rate), m_options.threads, m_result);
        } else {
            m_network.run(m_samples.input, m_samples.labels, m_options.gradients, m_options.threads, m_result);
        }
    }

    void apply(double rate)
    {
        for (std::size_t i = 0; i < m_result.gradients.size(); ++i) {
            LutTrainLayer& layer = m_network.layers()[i];
            LutLayerGradients& gradients = m_result.gradients[i];
            if (m_options.gradients == LutGradients::Sparse) {
                m_updaters[2 * i].apply(layer.weights, gradients.sparseWeights, rate);
            } else if (m_options.gradients == LutGradients::Dense) {
                m_updaters[2 * i].apply(layer.weights, gradients.weights, rate);
            }
            m_updaters[2 * i + 1].apply(layer.codes, gradients.codes, rate);
        }
    }

    LutNetwork& m_network;
    TrainingSamples m_samples;
    LutTrainOptions m_options;
    std::mt19937_64 m_random;
    std::vector<std::size_t> m_order;
    std::vector<Updater> m_updaters;
    LutBatchResult m_result; ///< of the batch before, until the next
};

Result<void> checkNumbers(const Tensor& tensor, const char* name, std::int64_t below)
{
    const Tensor plain = tensor.contiguous();
    const auto numbers = plain.span<std::int64_t>();
    const auto bad = std::ranges::find_if(numbers, [below](std::int64_t n) { return n < 0 || n >= below; });
    return bad == numbers.end()
               ? Result<void>()
               : base::inputError(fmt::format("{} has {}; numbers from 0 to {} are expected", name, *bad, below - 1));
}

/// That the policy of gradients goes with what is done with them.
Result<void> checkGradients(const LutTrainOptions& options)
{
    if (options.gradients == LutGradients::None) {
        return base::usageError("training needs gradients: dense, sparse or internal");
    }
    if (options.gradients == LutGradients::Sparse && options.update == LutUpdate::Adam) {
        return base::usageError("a sparse gradient goes with sgd: the moments of adam change weights whose gradient is "
                                "zero, too; take sgd, or the dense gradient");
    }
    const bool isInternal = options.gradients == LutGradients::Internal;
    if (isInternal && (options.update == LutUpdate::Adam || options.isNormalised)) {
        return base::usageError(
            "an internal gradient is added to the weights where it arises, so it goes with sgd, not "
            "normalised; take that, or the dense gradient");
    }
    return {};
}

} // namespace

Result<void> checkDataSet(const LutDataSet& data, const LutNetworkPlan& plan)
{
    const bool isText = plan.vocabulary > 0;
    tensor::Shape sample;
    if (plan.length > 1) {
        sample.push_back(plan.length);
    }
    if (!isText) {
        sample.push_back(plan.inputs);
    }
    const tensor::Shape& shape = data.x.shape();
    const bool fits = !shape.empty() && tensor::Shape(shape.begin() + 1, shape.end()) == sample &&
                      data.labels.shape() == tensor::Shape{shape[0]};
    if (!fits || data.x.dtype() != (isText ? DType::Int64 : DType::Float32) || data.labels.dtype() != DType::Int64) {
        return base::inputError(
            fmt::format("x is {} {} and y is {} {}; {} samples × {} and an int64 label for each are "
                        "needed",
                        tensor::nameOf(data.x.dtype()), tensor::toText(shape), tensor::nameOf(data.labels.dtype()),
                        tensor::toText(data.labels.shape()), isText ? "int64" : "float32", tensor::toText(sample)));
    }
    RETRO_CHECK(checkNumbers(data.labels, "y", plan.classes));
    return isText ? checkNumbers(data.x, "x", plan.vocabulary) : Result<void>();
}

double accuracyOf(const LutNetwork& network, const LutDataSet& data, int threads)
{
    constexpr std::size_t kBatch = 256;
    TrainingSamples samples(network, data);
    std::size_t right = 0;
    const std::vector<std::size_t> order = inOrder(samples.count());
    [[maybe_unused]] const auto done =
        forBatches(order, kBatch, [&](std::span<const std::size_t> rows) -> Result<void> {
            samples.take(rows);
            right += network.run(samples.input, samples.labels, LutGradients::None, threads).right;
            return {};
        });
    return samples.count() == 0 ? std::numeric_limits<double>::quiet_NaN()
                                : static_cast<double>(right) / static_cast<double>(samples.count());
}

Result<void> train(LutNetwork& network, const LutDataSet& data, const LutDataSet& test, const LutTrainOptions& options,
                   const std::stop_token& stop, const std::function<void(const LutTrainProgress&)>& progress)
{
    RETRO_CHECK(checkDataSet(data, network.plan()));
    if (test.x.isValid()) {
        RETRO_CHECK(checkDataSet(test, network.plan()));
    }
    if (options.batch == 0 || !(options.rate > 0)) {
        return base::usageError("a batch has at least one sample, and the rate is above 0");
    }
    RETRO_CHECK(checkGradients(options));
    Trainer trainer(network, data, options);
    for (std::size_t epoch = 0; epoch < options.epochs; ++epoch) {
        RETRO_TRY(LutTrainProgress done, trainer.epoch(epoch, stop));
        done.testRight = accuracyOf(network, test, options.threads);
        if (progress) {
            progress(done);
        }
    }
    return {};
}

} // namespace retro::engine
