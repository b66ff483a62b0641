// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/region/history.h"

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace retro::python
{

/// The events of an explanation: just made, or read from a run file. Immutable.
class Recorded
{
public:
    /// `model`: the one that was explained, or null, where history() opens the one that the run names.
    Recorded(std::shared_ptr<const trace::Run> run, engine::LoadedModelPointer model);
    /// Throws Refused, as trace::readRun().
    [[nodiscard]] static std::shared_ptr<Recorded> open(const std::string& path);

    [[nodiscard]] const std::shared_ptr<const trace::Run>& run() const { return m_run; }
    /// What a Run says of itself, by the names that it has for it.
    [[nodiscard]] nanobind::dict contents() const;

    // As JSON.
    [[nodiscard]] std::string audit() const;
    [[nodiscard]] std::string compare(const Recorded& other, double tolerance) const;
    [[nodiscard]] std::string compareFile(const std::string& path, double tolerance) const;
    /// How the relevance of an element (VALUE:i,j,…) came to be, with at most `most` elements of each value.
    [[nodiscard]] std::string history(const std::string& place, std::size_t most) const;
    /// The visits of the traversal in order: node, mode, values, and what happened in words.
    [[nodiscard]] std::string visits() const;
    /// Writes the run file. Errors: Output.
    void save(const std::string& path) const;

private:
    std::shared_ptr<const trace::Run> m_run;
    engine::LoadedModelPointer m_model;
    mutable std::mutex m_historianMutex;
    mutable std::optional<engine::Historian> m_historian; ///< made for the first question
};

/// What an explanation found. Immutable.
class Run
{
public:
    Run(engine::LoadedModelPointer model, engine::ExplainRequest request, engine::ExplainResult result);

    /// Names of the values that relevance reached, in the order of the graph.
    [[nodiscard]] std::vector<std::string> names() const;
    /// Nothing is written over these files as long as the run is there.
    void hold(std::shared_ptr<const base::HeldFiles> files) { m_files = std::move(files); }
    /// Names of the inputs and of the outputs of the graph.
    [[nodiscard]] std::vector<std::string> inputNames() const;
    [[nodiscard]] std::vector<std::string> outputNames() const;
    /// The relevance of a value as a read-only array; None where none arrived or there is no such value.
    [[nodiscard]] nanobind::object relevance(const std::string& name) const;
    /// What was explained, by the name of an input; what the model answered, by that of an output.
    [[nodiscard]] nanobind::dict inputs() const;
    [[nodiscard]] nanobind::dict outputs() const;
    /// Relevance of constants, by name; empty where nobody asked.
    [[nodiscard]] nanobind::dict parameters() const;
    /// Snapshots of relevance, by name.
    [[nodiscard]] nanobind::dict checkpoints() const;
    /// (value, index per sample, score per sample).
    [[nodiscard]] nanobind::tuple target() const;
    [[nodiscard]] const std::string& composite() const { return m_result.composite.name; }
    [[nodiscard]] const std::vector<std::string>& warnings() const { return m_result.warnings; }
    /// Its events; null where they were not recorded.
    [[nodiscard]] const std::shared_ptr<Recorded>& recorded() const { return m_recorded; }
    /// (layout, mean, deviation, low, high) of pictures; words of tokens of the input of that name.
    [[nodiscard]] nanobind::tuple preparation() const;
    [[nodiscard]] std::vector<std::string> words(const std::string& input) const;

    // As JSON.
    [[nodiscard]] std::string summary() const;
    [[nodiscard]] std::string diagnose(const Run* against, const std::vector<std::string>& families,
                                       const std::vector<std::string>& checks, bool isDeep) const;

private:
    engine::LoadedModelPointer m_model;
    std::shared_ptr<const base::HeldFiles> m_files; ///< of the inputs
    engine::ExplainRequest m_request;
    engine::ExplainResult m_result;
    std::shared_ptr<Recorded> m_recorded;
};

} // namespace retro::python
