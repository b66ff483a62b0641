// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>

class QSettings;

namespace retro::app
{

/// What was open when the window closed, what was asked of it, and where it was looked at. Plain values.
struct Session
{
    QString path; ///< of a model, a recorded run or a built-in sample; empty = nothing was open
    QStringList inputs;
    QStringList targets;
    QString start;
    QString composite;
    QStringList rules;
    QStringList texts; ///< what was asked of a text: "name=what", by the fields of the question
    QString workspace;
    quint64 position = 0; ///< number of events applied
    QString node;         ///< that was selected; empty = none

    bool operator==(const Session&) const = default;
    [[nodiscard]] bool isEmpty() const { return path.isEmpty(); }
    /// Its file is still there.
    [[nodiscard]] bool canResume() const;
};

[[nodiscard]] Session readSession(const QSettings& store);
void writeSession(QSettings& store, const Session& session);

} // namespace retro::app
