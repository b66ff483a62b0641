// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/plane.h"
#include "views/common/viewcontext.h"

#include <QImage>
#include <QString>
#include <QStringList>

#include <optional>
#include <vector>

namespace retro::views
{

/// One side of a pair, as a picture shows it: relevance of a value at the end of its run.
struct PairSide
{
    Plane plane;          ///< summed over channels; empty = no relevance of that value
    QImage picture;       ///< what the model saw; may be null
    bool isSteps = false; ///< one row, a number per step or word
    QStringList words;    ///< per step; may be empty
    double sum = 0;       ///< Σ R of the value
    double positive = 0;  ///< Σ of its positive elements
};

/// A class in both runs.
struct PairClass
{
    QString name;
    double before = 0; ///< score
    double after = 0;
    std::optional<double> probabilityBefore;
    std::optional<double> probabilityAfter;
};

/// A row of both ledgers.
struct PairAmount
{
    QString name;
    double before = 0;
    double after = 0;
};

/// What differs between two runs and what came of it. Plain values, made by comparePair().
struct RunPair
{
    PairSide before;
    PairSide after;
    Plane difference;               ///< after − before; empty where the planes have other sizes
    double limit = 0;               ///< of the one scale for all three
    std::vector<PairClass> classes; ///< those that moved most first, at most eight
    std::vector<PairAmount> ledger;
    QString question;    ///< that two things are explained, which no change connects; empty where it is one
    QStringList changes; ///< "Input: 144 of 9,216 numbers differ", "Rules: epsilon → epsilon_plus"
    QString meaning;     ///< what came of it, in a sentence or two
    QString value;       ///< name of the value whose relevance is shown
};

/// Compares two runs, each at its end, at the value of that name (empty: the first input with relevance of each).
[[nodiscard]] RunPair comparePair(const RunModel& before, const RunModel& after, const QString& value);

} // namespace retro::views
