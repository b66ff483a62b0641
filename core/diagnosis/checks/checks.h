// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/check.h"

/// Every check, in the order of docs/diagnosis.md: one line each. Each stands in a file of its own beside this one.
#define RETRO_DIAGNOSIS_CHECKS(X)                                                                                      \
    X(modelTraining)                                                                                                   \
    X(modelWeightNonfinite)                                                                                            \
    X(modelChannelOutlier)                                                                                             \
    X(modelBnOutlier)                                                                                                  \
    X(modelNormOutlier)                                                                                                \
    X(modelZeroWeights)                                                                                                \
    X(modelZeroFactor)                                                                                                 \
    X(modelStride)                                                                                                     \
    X(modelCheckerboard)                                                                                               \
    X(modelSlope)                                                                                                      \
    X(modelOddOne)                                                                                                     \
    X(modelSkip)                                                                                                       \
    X(modelTwins)                                                                                                      \
    X(modelStack)                                                                                                      \
    X(modelParts)                                                                                                      \
    X(modelRows)                                                                                                       \
    X(modelUntrained)                                                                                                  \
    X(inputLayout)                                                                                                     \
    X(inputShape)                                                                                                      \
    X(inputRange)                                                                                                      \
    X(inputPreparation)                                                                                                \
    X(inputDrift)                                                                                                      \
    X(inputPadding)                                                                                                    \
    X(inputBars)                                                                                                       \
    X(inputConcentrated)                                                                                               \
    X(inputColumns)                                                                                                    \
    X(dataPreparation)                                                                                                 \
    X(dataLabels)                                                                                                      \
    X(dataClasses)                                                                                                     \
    X(dataAccuracy)                                                                                                    \
    X(dataStatistics)                                                                                                  \
    X(dataRepair)                                                                                                      \
    X(dataSilent)                                                                                                      \
    X(dataPlace)                                                                                                       \
    X(targetSquashed)                                                                                                  \
    X(targetRange)                                                                                                     \
    X(targetRank)                                                                                                      \
    X(targetOutput)                                                                                                    \
    X(targetLabels)                                                                                                    \
    X(forwardNonfinite)                                                                                                \
    X(forwardDead)                                                                                                     \
    X(forwardSaturated)                                                                                                \
    X(forwardClipped)                                                                                                  \
    X(forwardTies)                                                                                                     \
    X(forwardHalf)                                                                                                     \
    X(forwardEpsilon)                                                                                                  \
    X(recurrentGate)                                                                                                   \
    X(quantSaturated)                                                                                                  \
    X(quantCoarse)                                                                                                     \
    X(attentionLeak)                                                                                                   \
    X(attentionSharp)                                                                                                  \
    X(attentionMask)                                                                                                   \
    X(tokenSink)                                                                                                       \
    X(tokenBehind)                                                                                                     \
    X(tokenVocabulary)                                                                                                 \
    X(flowCut)                                                                                                         \
    X(flowUnconnected)                                                                                                 \
    X(flowGrowth)                                                                                                      \
    X(flowExplodes)                                                                                                    \
    X(flowAbsorbed)                                                                                                    \
    X(flowBias)                                                                                                        \
    X(flowZeroDenominator)                                                                                             \
    X(flowUnread)                                                                                                      \
    X(flowClippedSign)                                                                                                 \
    X(flowConstant)                                                                                                    \
    X(ruleInvalid)                                                                                                     \
    X(ruleBox)                                                                                                         \
    X(ruleLoss)                                                                                                        \
    X(ruleStop)                                                                                                        \
    X(ruleShared)                                                                                                      \
    X(ruleUnmergedBn)                                                                                                  \
    X(ruleOdd)                                                                                                         \
    X(ruleUnused)                                                                                                      \
    X(ruleBetter)                                                                                                      \
    X(diffNode)                                                                                                        \
    X(diffAttribute)                                                                                                   \
    X(diffWeight)                                                                                                      \
    X(diffRewired)                                                                                                     \
    X(diffInput)                                                                                                       \
    X(diffRule)                                                                                                        \
    X(diffTarget)                                                                                                      \
    X(diffStart)                                                                                                       \
    X(diffForward)                                                                                                     \
    X(evalClassBlind)                                                                                                  \
    X(evalBatch)                                                                                                       \
    X(evalBelowRandom)

namespace retro::diagnosis
{

#define RETRO_DECLARE_CHECK(name) extern const Check name;
RETRO_DIAGNOSIS_CHECKS(RETRO_DECLARE_CHECK)
#undef RETRO_DECLARE_CHECK

} // namespace retro::diagnosis
