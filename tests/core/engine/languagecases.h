// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/file.h"
#include "core/engine/model/loadmodel.h"
#include "core/execute/boundmodel.h"
#include "core/graph/graph.h"
#include "core/tensor/npy.h"
#include "tests/goldenfiles.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace retro::tests
{

/// One folder with a case.json: an operator or a language model, and what comes out of it.
struct LanguageCase
{
    std::string name;
    std::filesystem::path folder;
    nlohmann::json meta;
};

/// Failures of one case in one precision.
class CaseReport
{
public:
    CaseReport(const LanguageCase& one, execute::Precision precision)
        : m_case(one), m_word(precision == execute::Precision::Double ? "double" : "float"),
          m_tolerance(one.meta.at("tolerance").at(m_word).get<double>())
    {}

    /// Prints it; the number of failures so far.
    int fail(const std::string& what)
    {
        std::printf("FAIL %s (%s): %s\n", m_case.name.c_str(), m_word, what.c_str());
        return ++m_failures;
    }

    /// max|a − b| ≤ tolerance · max|b| against the array of a file of the case; NaN there is not compared.
    void compare(const std::string& what, const tensor::Tensor& is, const std::string& file)
    {
        const auto read = tensor::readNpy(m_case.folder / file);
        if (!read) {
            fail(read.error().text());
        } else {
            compare(what, is, *read);
        }
    }
    void compare(const std::string& what, const tensor::Tensor& is, const tensor::Tensor& expected)
    {
        if (!is.isValid() || is.shape() != expected.shape()) {
            fail(what + " is missing or of another shape: " + (is.isValid() ? tensor::toText(is.shape()) : "none"));
            return;
        }
        double largest = 0;
        double apart = 0;
        for (std::int64_t i = 0; i < expected.size(); ++i) {
            if (std::isnan(expected.at(i))) {
                continue;
            }
            largest = std::max(largest, std::abs(expected.at(i)));
            const double own = std::abs(is.at(i) - expected.at(i));
            apart = std::isnan(own) ? own : std::max(apart, own);
            if (std::isnan(apart)) {
                break;
            }
        }
        if (!(apart <= m_tolerance * std::max(largest, 1e-300))) {
            fail(what + " is " + std::to_string(apart / std::max(largest, 1e-300)) + " of the largest apart");
        }
    }

    [[nodiscard]] int failures() const { return m_failures; }

private:
    const LanguageCase& m_case;
    const char* m_word;
    double m_tolerance;
    int m_failures = 0;
};

/// The inputs of a graph, in order, from `files` (name → .npy); inputs without a file stay invalid.
inline base::Result<std::vector<tensor::Tensor>> readTensors(const LanguageCase& one, const nlohmann::json& files,
                                                             const graph::Graph& graph)
{
    std::vector<tensor::Tensor> inputs;
    for (const base::ValueId id : graph.inputs()) {
        const auto at = files.find(graph.value(id).name);
        inputs.emplace_back();
        if (at != files.end()) {
            RETRO_TRY(inputs.back(), tensor::readNpy(one.folder / at->get<std::string>()));
        }
    }
    return inputs;
}

/// The main function: runs `failuresIn(case, precision)` for each case of a family.
template <class F>
int runLanguageCases(const std::string& family, const F& failuresIn)
{
    const std::filesystem::path root = goldenFolder(family);
    std::vector<std::filesystem::path> folders;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(root, failed)) {
        if (std::filesystem::exists(entry.path() / "case.json")) {
            folders.push_back(entry.path());
        }
    }
    std::sort(folders.begin(), folders.end());
    if (folders.empty()) {
        std::printf("FAIL no case in %s; set RETROGRADE_GOLDEN to the folder that holds %s\n", root.string().c_str(),
                    family.c_str());
        return 1;
    }
    int failures = 0;
    for (const std::filesystem::path& folder : folders) {
        const auto text = base::readTextFile(folder / "case.json", 16ULL << 20U);
        LanguageCase one{folder.filename().string(), folder,
                         text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json()};
        if (!one.meta.is_object()) {
            std::printf("FAIL %s: case.json cannot be read\n", one.name.c_str());
            ++failures;
            continue;
        }
        for (const execute::Precision precision : {execute::Precision::Double, execute::Precision::Float}) {
            failures += failuresIn(one, precision);
        }
    }
    std::printf("%zu cases, %d failures\n", folders.size(), failures);
    return failures == 0 ? 0 : 1;
}

} // namespace retro::tests
