// SPDX-License-Identifier: Apache-2.0
#include "core/engine/lut/lutrun.h"

#include "core/engine/explain/stopwatch.h"
#include "kernels/lut/arithmetic.h"
#include "kernels/lut/cuda.h"
#include "kernels/lut/relevance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

namespace retro::engine
{

namespace
{

using base::Result;
using formats::LutCase;

constexpr double kDoubleTolerance = 1e-6;
constexpr double kFloatTolerance = 1e-5;
constexpr double kFloatRelevanceTolerance = 1e-4;
/// Most numbers of one array that a case may ask for.
constexpr std::uint64_t kMaxNumbers = std::uint64_t{1} << 28;

/// Largest |a − b| / max(1, |b|). A NaN on one side alone is infinitely far.
double deviationOf(const std::vector<double>& ours, const std::vector<double>& expected)
{
    double largest = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        const double distance = std::abs(ours[i] - expected[i]) / std::max(1.0, std::abs(expected[i]));
        const bool isSame = ours[i] == expected[i] || (std::isnan(ours[i]) && std::isnan(expected[i]));
        largest = std::max(largest, isSame                 ? 0.0
                                    : std::isnan(distance) ? std::numeric_limits<double>::infinity()
                                                           : distance);
    }
    return largest;
}

Result<void> checked(const lut::Status& status, const LutCase& given)
{
    if (status.ok()) {
        return {};
    }
    const bool isOfDevice = status.code == lut::StatusCode::Device || status.code == lut::StatusCode::Unavailable;
    return isOfDevice ? base::engineError(status.message, given.where) : base::inputError(status.message, given.where);
}

/// Where the passes of a case run.
template <class T>
class Passes
{
public:
    Passes(const lut::Layer<T>& layer, const lut::RunOptions<T>& options) : m_layer(layer), m_options(options) {}

    /// Goes to a device. Only float runs there.
    lut::Status moveToDevice(std::uint64_t batch)
    {
        if constexpr (std::is_same_v<T, float>) {
            return lut::CudaLayer::create(m_layer, batch, m_device, {m_options.path, m_options.scratchLimit});
        } else {
            return lut::availability(lut::Backend::Cuda);
        }
    }
    lut::Status forward(const lut::ForwardCall<T>& call)
    {
        if constexpr (std::is_same_v<T, float>) {
            if (m_device) {
                return m_device->forward(call);
            }
        }
        return lut::forward<T>(m_layer, call, m_options);
    }
    lut::Status backward(const lut::BackwardCall<T>& call)
    {
        if constexpr (std::is_same_v<T, float>) {
            if (m_device) {
                return m_device->backward(call);
            }
        }
        return lut::backward<T>(m_layer, call, m_options);
    }

private:
    const lut::Layer<T>& m_layer;
    const lut::RunOptions<T>& m_options;
    std::unique_ptr<lut::CudaLayer> m_device;
};

/// A run under way in one precision.
template <class T>
class CaseRun
{
public:
    CaseRun(const LutCase& given, const LutRunOptions& options, const lut::Layer<T>& layer,
            const formats::LutCaseLayer<T>& numbers)
        : m_case(given), m_layer(layer), m_numbers(numbers),
          m_output(given.batch * layer.shape().length * layer.shape().outputs), m_path(options.path),
          m_backend(options.backend), m_passes(layer, m_options)
    {
        m_options.path = options.path;
        m_options.threads = options.threads;
        m_options.scratchLimit = options.scratchLimit;
        m_options.observer = [this](const lut::LaunchView<T>& view) { takeRowScores(view); };
    }

    Result<LutRun> run()
    {
        if (m_backend == lut::Backend::Cuda) {
            RETRO_CHECK(checked(m_passes.moveToDevice(m_case.batch), m_case));
        }
        RETRO_CHECK(forward());
        if (!m_case.outputGradients.empty()) {
            RETRO_CHECK(backward());
            RETRO_CHECK(relevance());
        }
        return std::move(m_run);
    }

private:
    [[nodiscard]] std::uint64_t positions() const { return m_case.batch * m_layer.shape().length; }

    Result<void> schedule(lut::Pass pass, lut::Schedule& target) const
    {
        return checked(lut::makeSchedule(lut::requestOf(m_layer, m_case.batch, m_path, pass), target), m_case);
    }

    /// Adds a quantity; `tolerance` 0 = exact.
    template <class Values>
    Result<void> add(const std::string& name, const Values& values, double tolerance)
    {
        LutQuantity quantity{name, {values.begin(), values.end()}, {}, tolerance};
        const auto expected = m_case.expected.find(name);
        if (expected != m_case.expected.end()) {
            if (expected->second.size() != quantity.values.size()) {
                return base::inputError(fmt::format("field {} has {} numbers where the layer gives {}", name,
                                                    expected->second.size(), quantity.values.size()),
                                        m_case.where);
            }
            quantity.deviation = deviationOf(quantity.values, expected->second);
        }
        m_run.quantities.push_back(std::move(quantity));
        return {};
    }

    static double tolerance() { return sizeof(T) == sizeof(double) ? kDoubleTolerance : kFloatTolerance; }
    static double relevanceTolerance()
    {
        return sizeof(T) == sizeof(double) ? kDoubleTolerance : kFloatRelevanceTolerance;
    }

    Result<void> forward()
    {
        RETRO_CHECK(schedule(lut::Pass::Forward, m_run.forward));
        const Stopwatch watch;
        RETRO_CHECK(checked(m_passes.forward({m_case.batch, m_numbers.input(), m_output, &m_tape}), m_case));
        m_run.forwardSeconds = watch.seconds();
        RETRO_CHECK(add("forward.output", m_output, tolerance()));
        RETRO_CHECK(add("forward.lookup_indices", m_tape.rows, 0));
        RETRO_CHECK(add("forward.min_deltas", m_tape.deltas, tolerance()));
        RETRO_CHECK(add("forward.min_delta_indices", m_tape.bits, 0));
        if (m_layer.shape().isSequence) {
            RETRO_CHECK(add("forward.pe_lookup_indices", m_tape.codeRows, 0));
            RETRO_CHECK(add("forward.pe_min_deltas", m_tape.codeDeltas, tolerance()));
            RETRO_CHECK(add("forward.pe_min_delta_indices", m_tape.codeBits, 0));
        }
        return m_tape.hasEvents ? addEvents() : Result<void>();
    }

    Result<void> addEvents()
    {
        std::vector<double> main;
        for (const lut::MainEvent& event : m_tape.mainEvents) {
            main.insert(main.end(), {static_cast<double>(event.batch), static_cast<double>(event.position),
                                     static_cast<double>(event.neuron), static_cast<double>(event.count)});
        }
        RETRO_CHECK(add("events_main", main, 0));
        std::vector<double> other;
        for (const lut::AlternativeEvent& event : m_tape.otherEvents) {
            other.insert(other.end(), {static_cast<double>(event.batch), static_cast<double>(event.position),
                                       static_cast<double>(event.neuron)});
        }
        return add("events_alternative", other, 0);
    }

    /// Scores of the chosen and the alternative row of each detector, before they are carried on and cleared.
    void takeRowScores(const lut::LaunchView<T>& view)
    {
        const lut::LayerShape& shape = m_layer.shape();
        const bool isNext = view.launch + 1 < view.schedule.launches.size() &&
                            view.schedule.launches[view.launch + 1].kernel == lut::KernelId::PropagateThroughDetectors;
        for (std::uint64_t site = 0; site < (isNext ? m_tape.rows.size() : 0); ++site) {
            const auto row = static_cast<std::uint32_t>(m_tape.rows[site]);
            for (const std::uint32_t which : {row, lut::flipped(row, m_tape.bits[site])}) {
                m_rowScores.push_back(view.beforeDetectorsGradients[lut::cellOf(site, which, shape.rows())]);
            }
        }
    }

    Result<void> backward()
    {
        const lut::LayerShape& shape = m_layer.shape();
        lut::Schedule launches;
        RETRO_CHECK(schedule(lut::Pass::Backward, launches));
        m_run.backward = std::move(launches);
        std::vector<T> inputs(positions() * shape.inputs);
        std::vector<T> weights(m_case.weights.size());
        std::vector<T> codes(m_case.codes.size());
        const Stopwatch watch;
        RETRO_CHECK(checked(
            m_passes.backward({m_case.batch, &m_tape, m_numbers.outputGradients(), inputs, weights, codes}), m_case));
        m_run.backwardSeconds = watch.seconds();
        RETRO_CHECK(add("backward.dx", inputs, tolerance()));
        RETRO_CHECK(add("backward.dw", weights, tolerance()));
        if (shape.isSequence) {
            return add("backward.dpe", codes, tolerance());
        }
        return m_rowScores.empty() ? Result<void>() : add("backward.row_scores", m_rowScores, tolerance());
    }

    Result<void> relevance()
    {
        const lut::LayerShape& shape = m_layer.shape();
        std::vector<T> inputs(positions() * shape.inputs);
        std::vector<T> codes(m_case.codes.size());
        std::vector<T> tables(m_case.batch * shape.tables);
        std::vector<T> pairs(shape.isSequence ? positions() * shape.length : 0);
        lut::RelevanceCall<T> call;
        call.batch = m_case.batch;
        call.tape = &m_tape;
        call.input = m_numbers.input();
        call.output = m_output;
        call.outputRelevance = m_numbers.outputGradients();
        call.epsilon = static_cast<T>(m_case.epsilon);
        call.inputRelevance = inputs;
        call.codeRelevance = codes;
        call.tableRelevance = tables;
        call.pairMap = pairs;
        RETRO_CHECK(checked(lut::relevance(m_layer, call, m_options.threads), m_case));
        const std::string group = "lrp_of_grad_output_as_relevance.";
        RETRO_CHECK(add(group + "rx", inputs, relevanceTolerance()));
        RETRO_CHECK(add(group + "rtable", tables, relevanceTolerance()));
        if (!shape.isSequence) {
            return {};
        }
        RETRO_CHECK(add(group + "rpe", codes, relevanceTolerance()));
        return add(group + "pair_map", pairs, relevanceTolerance());
    }

    const LutCase& m_case;
    const lut::Layer<T>& m_layer;
    const formats::LutCaseLayer<T>& m_numbers;
    lut::RunOptions<T> m_options;
    std::vector<T> m_output;
    lut::Path m_path;
    lut::Backend m_backend;
    Passes<T> m_passes;
    lut::Tape<T> m_tape;
    std::vector<T> m_rowScores;
    LutRun m_run;
};

/// Sizes of the arrays of a pass, before anything is allocated for it.
template <class T>
Result<void> checkArrays(const LutCase& given, const lut::Layer<T>& layer)
{
    const lut::LayerShape& shape = layer.shape();
    const auto inputs = lut::checkedProduct({given.batch, shape.length, shape.inputs});
    const auto outputs = lut::checkedProduct({given.batch, shape.length, shape.outputs});
    if (!inputs || given.input.size() != *inputs) {
        return base::inputError(fmt::format("x has {} numbers where {} samples of the layer need {}",
                                            given.input.size(), given.batch, inputs.value_or(0)),
                                given.where);
    }
    const bool hasGradients = !given.outputGradients.empty();
    if (!outputs || (hasGradients && given.outputGradients.size() != *outputs)) {
        return base::inputError(fmt::format("grad_output has {} numbers where {} samples of the layer need {}",
                                            given.outputGradients.size(), given.batch, outputs.value_or(0)),
                                given.where);
    }
    const auto pairs = lut::checkedProduct({given.batch, shape.length, shape.isSequence ? shape.length : 1});
    const auto sites = lut::checkedProduct({given.batch, shape.length, shape.tables});
    if (*outputs > kMaxNumbers || !pairs || *pairs > kMaxNumbers || !sites || *sites > kMaxNumbers) {
        return base::inputError(
            fmt::format("the output, the chosen rows or the map of pairs have more than {} numbers; "
                        "take a smaller batch",
                        kMaxNumbers),
            given.where);
    }
    return {};
}

template <class T>
Result<LutRun> runAs(const LutCase& given, const LutRunOptions& options)
{
    const formats::LutCaseLayer<T> numbers(given);
    RETRO_TRY(const lut::Layer<T> layer, numbers.layer());
    RETRO_CHECK(checkArrays(given, layer));
    return CaseRun<T>(given, options, layer, numbers).run();
}

} // namespace

bool LutRun::holds() const
{
    return std::all_of(quantities.begin(), quantities.end(), [](const LutQuantity& one) { return one.holds(); });
}

Result<LutRun> runLutCase(const LutCase& given, const LutRunOptions& options)
{
    if (options.backend == lut::Backend::Cuda && options.isDouble) {
        return base::usageError("the CUDA back end runs in float; ask for that, or take the CPU back end");
    }
    return options.isDouble ? runAs<double>(given, options) : runAs<float>(given, options);
}

} // namespace retro::engine
