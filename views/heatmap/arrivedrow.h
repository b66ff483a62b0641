// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <QString>
#include <QWidget>

#include <optional>

namespace retro::views
{

/// What a run began with: Σ of the relevance that came from outside. A walk over the run, for RunDerived.
struct StartedRelevance
{
    explicit StartedRelevance(const trace::Run& run);
    double sum = 0;
    bool isConserved = true; ///< a gradient is not: shares of it say nothing
};

/// Below a heatmap that grows: what it is of, and the share of the score that has arrived there. GUI thread.
class ArrivedRow final : public QWidget
{
    Q_OBJECT

public:
    explicit ArrivedRow(QWidget* parent = nullptr);

    /// share: none where shares say nothing. isPart: other parts have not landed yet.
    void setFacts(const QString& name, const QString& shape, std::optional<double> share, bool isPart);
    /// "block1.Add, 97.7 % of the score arrived", for those who do not see the bar.
    [[nodiscard]] const QString& words() const { return m_words; }
    [[nodiscard]] std::optional<double> share() const { return m_share; }
    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    QString m_name;
    QString m_shape;
    QString m_words;
    std::optional<double> m_share;
    bool m_isPart = false;
};

} // namespace retro::views
